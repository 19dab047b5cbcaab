// The beginning of recording in a process, and what replaces or copies it: exec and fork.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdarg>
#include <cstring>

#include "probe/agent/modules.hpp"
#include "probe/agent/real.hpp"
#include "probe/agent/start.hpp"
#include "probe/agent/state.hpp"
#include "probe/agent/system.hpp"

namespace threadmark::agent {

namespace {

constexpr char kProbe[] = "THREADMARK_PROBE=";
constexpr char kPreload[] = "LD_PRELOAD=";
constexpr std::size_t kProbeLength = sizeof kProbe - 1, kPreloadLength = sizeof kPreload - 1;

// As they came, for a program that replaces this one.
char probe_entry[256], agent_path[4096];

bool begins(const char* text, const char* with, std::size_t length) {
  return std::strncmp(text, with, length) == 0;
}

char** find(char** environment, const char* name, std::size_t length) {
  for (char** at = environment; *at != nullptr; ++at)
    if (begins(*at, name, length)) return at;
  return nullptr;
}

void remove(char** at) {
  for (; *at != nullptr; ++at) at[0] = at[1];
}

// Keeps the two variables for the agent and gives the target its own. False: there is no recorder.
bool take_environment(char** environment) {
  char** probe = find(environment, kProbe, kProbeLength);
  if (probe == nullptr) return false;
  const bool fits = std::strlen(*probe) < sizeof probe_entry;
  if (fits) std::strcpy(probe_entry, *probe);
  remove(probe);
  char** preload = find(environment, kPreload, kPreloadLength);
  if (preload == nullptr) return fits;
  char* path = *preload + kPreloadLength;
  const std::size_t length = std::strcspn(path, ": ");
  if (length < sizeof agent_path) std::memcpy(agent_path, path, length);
  if (path[length] == '\0')
    remove(preload);
  else
    std::memmove(path, path + length + 1, std::strlen(path + length + 1) + 1);
  return fits && length < sizeof agent_path;
}

void* map(long size, long flags, long file) {
  const long at = raw_call(SYS_mmap, 0, size, PROT_READ | PROT_WRITE, flags, file, 0);
  return at < 0 && at > -4096 ? nullptr : reinterpret_cast<void*>(at);
}

Shared* open_shared() {
  const long file =
      raw_call(SYS_openat, AT_FDCWD, as_word(probe_entry + kProbeLength), O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  auto* to = static_cast<Shared*>(map(sizeof(Shared), MAP_SHARED, file));
  raw_call(SYS_close, file);
  if (to == nullptr) return nullptr;
  if (to->magic == kMagic && to->version == kVersion &&
      to->size_checked == static_cast<std::uint32_t>(sizeof(Shared)))
    return to;
  raw_call(SYS_munmap, as_word(to), sizeof(Shared));
  return nullptr;
}

// The threads of the program that this one replaced are gone.
void end_former_threads(Shared* to) {
  const std::uint32_t used = get(to->threads_used);
  for (std::uint32_t i = 0; i < used && i < kThreads; ++i) {
    Thread& thread = to->threads[i];
    if (get(thread.use) != Thread::live) continue;
    put(thread.end_ns, now_ns());
    publish(thread.use, Thread::ended);
  }
}

[[gnu::constructor]] void begin_recording(int, char** arguments, char** environment) {
  resolve();
  const bool asked = take_environment(environ);
  if (environment != environ) take_environment(environment);
  if (!asked) return;
  Shared* to = open_shared();
  if (to == nullptr) return;
  constexpr long kPrivate = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  auto* own = static_cast<Control*>(map(sizeof(Control), kPrivate, -1));
  void* memory = map(static_cast<long>(thread_memory_size()), kPrivate, -1);
  if (own == nullptr || memory == nullptr) return;
  // Where the kernel cannot do this, the wrapper of fork does it.
  raw_call(SYS_madvise, as_word(own), sizeof(Control), 18 /* MADV_WIPEONFORK */);
  rlimit limit{};
  raw_call(SYS_prlimit64, 0, RLIMIT_STACK, 0, as_word(&limit));
  constexpr std::uint64_t kUsual = 8U << 20, kMost = 1U << 30;
  const std::uint64_t size =
      limit.rlim_cur == 0 || limit.rlim_cur > kMost ? kUsual : limit.rlim_cur;
  const auto top = reinterpret_cast<std::uint64_t>(arguments);
  prepare_memory(memory, top - size, top, size);
  read_modules();
  prepare_threads();
  if (see(to->attached) != 0) end_former_threads(to);
  own->shared = to;
  own->pid = raw_call(SYS_getpid);
  put(to->pid, own->pid);
  if (get(to->begin_ns) == 0) put(to->begin_ns, now_ns());
  control = own;
  {
    Busy busy;
    self();
  }
  publish(to->attached, 1);
}

bool is_recorded_process() { return shared() != nullptr && raw_call(SYS_getpid) == control->pid; }

std::size_t length_of(char* const* words) {
  std::size_t count = 0;
  while (words != nullptr && words[count] != nullptr) ++count;
  return count;
}

// Calls `call` with the environment in which the next program goes on recording. The memory is on
// the stack, because exec may be called where malloc may not: after vfork, in a signal handler.
template <class Call>
int with_probe(char* const* from, Call call) {
  if (!is_recorded_process()) return call(from);
  const std::size_t count = length_of(from);
  const char* preload = "";
  for (std::size_t i = 0; i < count; ++i)
    if (begins(from[i], kPreload, kPreloadLength)) preload = from[i] + kPreloadLength;
  auto** to = static_cast<char**>(__builtin_alloca((count + 3) * sizeof(char*)));
  const std::size_t length = std::strlen(agent_path), more = std::strlen(preload);
  auto* text = static_cast<char*>(__builtin_alloca(kPreloadLength + length + more + 2));
  std::memcpy(text, kPreload, kPreloadLength);
  std::memcpy(text + kPreloadLength, agent_path, length);
  char* end = text + kPreloadLength + length;
  if (more != 0) {
    *end++ = ':';
    std::memcpy(end, preload, more);
    end += more;
  }
  *end = '\0';
  std::size_t filled = 0;
  for (std::size_t i = 0; i < count; ++i)
    if (!begins(from[i], kPreload, kPreloadLength)) to[filled++] = from[i];
  to[filled++] = text;
  to[filled++] = probe_entry;
  to[filled] = nullptr;
  return call(to);
}

int replace(const char* path, char* const* arguments, char* const* environment) {
  return with_probe(environment,
                    [&](char* const* with) { return real().execve(path, arguments, with); });
}

int replace_searched(const char* file, char* const* arguments, char* const* environment) {
  return with_probe(environment,
                    [&](char* const* with) { return real().execvpe(file, arguments, with); });
}

}  // namespace

THREADMARK_WRAP(int, execve, const char* path, char* const* arguments, char* const* environment) {
  return replace(path, arguments, environment);
}
THREADMARK_WRAP(int, execv, const char* path, char* const* arguments) {
  return replace(path, arguments, environ);
}
THREADMARK_WRAP(int, execvpe, const char* file, char* const* arguments, char* const* environment) {
  return replace_searched(file, arguments, environment);
}
THREADMARK_WRAP(int, execvp, const char* file, char* const* arguments) {
  return replace_searched(file, arguments, environ);
}
THREADMARK_WRAP(int, fexecve, int file, char* const* arguments, char* const* environment) {
  return with_probe(environment,
                    [&](char* const* with) { return real().fexecve(file, arguments, with); });
}

// The arguments of the execl family as an array; what follows their end is the environment.
#define THREADMARK_LIST(first)                                                                \
  va_list list, again;                                                                        \
  va_start(list, first);                                                                      \
  va_copy(again, list);                                                                       \
  std::size_t count = 1;                                                                      \
  if (first != nullptr)                                                                       \
    while (va_arg(list, char*) != nullptr) ++count;                                           \
  auto** arguments = static_cast<char**>(__builtin_alloca((count + 1) * sizeof(char*)));      \
  arguments[0] = const_cast<char*>(first);                                                    \
  for (std::size_t i = 1; i < count; ++i) arguments[i] = va_arg(again, char*);                \
  arguments[count] = nullptr;                                                                 \
  va_end(again);                                                                              \
  [[maybe_unused]] char* const* environment = first == nullptr   ? environ                    \
                                              : kWithEnvironment ? va_arg(list, char* const*) \
                                                                 : environ;                   \
  va_end(list)

THREADMARK_WRAP(int, execl, const char* path, const char* first, ...) {
  constexpr bool kWithEnvironment = false;
  THREADMARK_LIST(first);
  return replace(path, arguments, environment);
}
THREADMARK_WRAP(int, execlp, const char* file, const char* first, ...) {
  constexpr bool kWithEnvironment = false;
  THREADMARK_LIST(first);
  return replace_searched(file, arguments, environment);
}
THREADMARK_WRAP(int, execle, const char* path, const char* first, ...) {
  constexpr bool kWithEnvironment = true;
  THREADMARK_LIST(first);
  return replace(path, arguments, environment);
}

THREADMARK_WRAP(pid_t, fork) {
  const pid_t child = real().fork();
  if (child == 0) {
    be_idle();
    mine = OfThread{};
  }
  return child;
}

THREADMARK_WRAP(int, dlclose, void* handle) {
  if (shared() == nullptr) return real().dlclose(handle);
  begin_unloading();
  const int result = real().dlclose(handle);
  end_unloading();
  return result;
}

}  // namespace threadmark::agent
