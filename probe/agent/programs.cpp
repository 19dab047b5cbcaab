// Starting another program: exec, posix_spawn, system and popen, and the environment for it. All
// but the last two may be called where malloc may not: after vfork, in a signal handler.
#include "probe/agent/programs.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "probe/agent/real.hpp"
#include "probe/agent/state.hpp"
#include "probe/agent/system.hpp"

namespace threadmark::agent {

namespace {

constexpr char kProbe[] = "THREADMARK_PROBE=";
constexpr char kPreload[] = "LD_PRELOAD=";
constexpr std::size_t kProbeLength = sizeof kProbe - 1, kPreloadLength = sizeof kPreload - 1;

// As they came, for the programs that are started here.
char probe_entry[256], agent_path[4096];
Shared* passed_on = nullptr;

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

#if defined(__aarch64__)
constexpr unsigned kMachine = EM_AARCH64;
#else
constexpr unsigned kMachine = EM_X86_64;
#endif

bool read_at(long file, std::uint64_t offset, void* to, std::size_t size) {
  return raw_call(SYS_pread64, file, as_word(to), static_cast<long>(size),
                  static_cast<long>(offset)) == static_cast<long>(size);
}

// Whether the loader of this ELF file would preload the agent, and say nothing.
bool loads_agent(long file) {
  struct stat about{};
  Elf64_Ehdr head;
  if (raw_call(SYS_fstat, file, as_word(&about)) != 0 || !read_at(file, 0, &head, sizeof head))
    return false;
  if ((about.st_mode & (S_ISUID | S_ISGID)) != 0) return false;
  if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != kMachine) return false;
  for (unsigned i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!read_at(file, head.e_phoff + i * sizeof segment, &segment, sizeof segment)) return false;
    if (segment.p_type != PT_INTERP) continue;
    char name[64] = {};
    const std::size_t size = segment.p_filesz < sizeof name ? segment.p_filesz : sizeof name - 1;
    return read_at(file, segment.p_offset, name, size) && std::strstr(name, "ld-musl") == nullptr;
  }
  return false;  // a static program
}

// Whether the variables do no harm in a program. A script's is its interpreter.
bool takes_agent(const char* path) {
  char head[256], interpreter[256];
  for (int depth = 0; depth < 5; ++depth) {
    const long file =
        raw_call(SYS_openat, AT_FDCWD, as_word(path), O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (file < 0) return false;
    const long got =
        raw_call(SYS_pread64, file, as_word(head), static_cast<long>(sizeof head - 1), 0);
    head[got > 0 ? got : 0] = '\0';
    const bool is_elf = got > SELFMAG && std::memcmp(head, ELFMAG, SELFMAG) == 0;
    const bool loads = is_elf && loads_agent(file);
    raw_call(SYS_close, file);
    if (is_elf) return loads;
    if (got < 2 || head[0] != '#' || head[1] != '!') return got >= 0;  // the shell's
    const char* begin = head + 2 + std::strspn(head + 2, " \t");
    const std::size_t length = std::strcspn(begin, " \t\r\n");
    std::memcpy(interpreter, begin, length);
    interpreter[length] = '\0';
    path = interpreter;
  }
  return false;
}

bool takes_agent_searched(const char* name) {
  if (std::strchr(name, '/') != nullptr) return takes_agent(name);
  char** variable = find(environ, "PATH=", 5);
  const char* rest = variable != nullptr ? *variable + 5 : "/bin:/usr/bin";
  const std::size_t length = std::strlen(name);
  for (;;) {
    const std::size_t folder = std::strcspn(rest, ":");
    char path[1024];
    if (folder + length + 2 <= sizeof path) {
      std::memcpy(path, rest, folder);
      path[folder] = '/';
      std::memcpy(path + folder + (folder != 0 ? 1 : 0), name, length + 1);
      constexpr int kExecutable = 1;
      if (raw_call(SYS_faccessat, AT_FDCWD, as_word(path), kExecutable) == 0)
        return takes_agent(path);
    }
    if (rest[folder] == '\0') return false;
    rest += folder + 1;
  }
}

// Without a recorder that still records, a program is started as it would be without the agent.
bool passes_on(bool in_child) {
  if (passed_on == nullptr || get(passed_on->over) != 0) return false;
  if (get(passed_on->follow) != 0) return true;
  return !in_child && shared() != nullptr && raw_call(SYS_getpid) == control->pid;
}

std::size_t length_of(char* const* words) {
  std::size_t count = 0;
  while (words != nullptr && words[count] != nullptr) ++count;
  return count;
}

const char* preload_of(char* const* from) {
  const char* last = "";
  for (std::size_t i = 0, count = length_of(from); i < count; ++i)
    if (begins(from[i], kPreload, kPreloadLength)) last = from[i] + kPreloadLength;
  return last;
}

// What an environment with the two variables needs: words, and bytes of text behind them.
std::size_t words_with_probe(char* const* from) { return length_of(from) + 3; }
std::size_t text_with_probe(char* const* from) {
  return kPreloadLength + std::strlen(agent_path) + std::strlen(preload_of(from)) + 2;
}

void fill_with_probe(char* const* from, char** to, char* text) {
  const char* others = preload_of(from);
  std::strcpy(text, kPreload);
  std::strcat(text, agent_path);
  if (*others != '\0') std::strcat(std::strcat(text, ":"), others);
  std::size_t filled = 0;
  bool placed = false;
  for (std::size_t i = 0, count = length_of(from); i < count; ++i) {
    if (!begins(from[i], kPreload, kPreloadLength)) {
      to[filled++] = from[i];
    } else if (!placed) {
      to[filled++] = text;
      placed = true;
    }
  }
  if (!placed) to[filled++] = text;
  to[filled++] = probe_entry;
  to[filled] = nullptr;
}

// Calls `call` with the environment in which the next program goes on recording.
template <class Call>
int with_probe(char* const* from, Call call) {
  auto** to = static_cast<char**>(__builtin_alloca(words_with_probe(from) * sizeof(char*)));
  fill_with_probe(from, to, static_cast<char*>(__builtin_alloca(text_with_probe(from))));
  return call(to);
}

int replace(const char* path, char* const* arguments, char* const* environment) {
  if (!passes_on(false) || !takes_agent(path)) return real().execve(path, arguments, environment);
  return with_probe(environment,
                    [&](char* const* with) { return real().execve(path, arguments, with); });
}

int replace_searched(const char* file, char* const* arguments, char* const* environment) {
  if (!passes_on(false) || !takes_agent_searched(file))
    return real().execvpe(file, arguments, environment);
  return with_probe(environment,
                    [&](char* const* with) { return real().execvpe(file, arguments, with); });
}

// For functions that give a child the environment of this process and take no other. `environ` is
// another array meanwhile. Its memory stays, because other threads may read it still.
class Lent {
 public:
  Lent() {
    if (environ == nullptr || !passes_on(true) || !takes_agent("/bin/sh")) return;
    while (!lend()) {  // another thread changed it meanwhile
    }
  }
  ~Lent() {
    if (lent_ == nullptr) return;
    char** expected = lent_;
    if (environ == lent_ && of_words(lent_) != words_) give_back_changes();
    if (!__atomic_compare_exchange_n(&environ, &expected, before_, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST)) {
      // Another thread has added to it: the C library made a copy, perhaps in place of the old.
      char** preload = find(environ, kPreload, kPreloadLength);
      if (preload != nullptr && own_preload_ != nullptr)
        *preload = own_preload_;
      else if (preload != nullptr)
        remove(preload);
      if (char** probe = find(environ, kProbe, kProbeLength); probe != nullptr) remove(probe);
    }
    if (memory_ == kept) publish(kept_used, 0);
  }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;

 private:
  static constexpr std::size_t kKept = std::size_t{256} << 10;
  static inline constinit void* kept = nullptr;
  static inline constinit std::atomic<std::uint8_t> kept_used{0};

  // False if the environment is no longer the one that was copied.
  bool lend() {
    before_ = environ;
    if (before_ == nullptr) return true;
    const std::size_t words = words_with_probe(before_);
    const std::size_t size = words * sizeof(char*) + text_with_probe(before_);
    memory_ = memory(size);
    if (memory_ == nullptr) return true;
    auto** filled = static_cast<char**>(memory_);
    fill_with_probe(before_, filled, static_cast<char*>(memory_) + words * sizeof(char*));
    char** own = find(before_, kPreload, kPreloadLength);
    own_preload_ = own != nullptr ? *own : nullptr;
    words_ = of_words(filled);
    char** expected = before_;
    if (__atomic_compare_exchange_n(&environ, &expected, filled, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST)) {
      lent_ = filled;
      return true;
    }
    if (memory_ == kept) publish(kept_used, 0);
    return false;
  }

  // Variables that another thread replaced or took away: the C library does so in the array, which
  // never has more of them than before.
  void give_back_changes() {
    char** to = before_;
    for (char** from = lent_; *from != nullptr; ++from) {
      if (*from == probe_entry) continue;
      const bool own = begins(*from, kPreload, kPreloadLength);
      if (!own)
        *to++ = *from;
      else if (own_preload_ != nullptr)
        *to++ = own_preload_;
    }
    *to = nullptr;
  }

  static std::uint64_t of_words(char* const* from) {
    std::uint64_t sum = 0;
    for (; *from != nullptr; ++from) sum = sum * 31 + reinterpret_cast<std::uint64_t>(*from);
    return sum;
  }

  static void* map(std::size_t size) {
    const long at = raw_call(SYS_mmap, 0, static_cast<long>(size), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at < 0 && at > -4096 ? nullptr : reinterpret_cast<void*>(at);
  }
  static void* memory(std::size_t size) {
    if (size > kKept || !claim(kept_used, 1)) return map(size);
    if (kept == nullptr) kept = map(kKept);
    if (kept == nullptr) publish(kept_used, 0);
    return kept;
  }

  char** before_ = nullptr;
  char** lent_ = nullptr;
  std::uint64_t words_ = 0;  // of what was lent
  char* own_preload_ = nullptr;
  void* memory_ = nullptr;
};

}  // namespace

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

const char* shared_path() { return probe_entry + kProbeLength; }

void pass_on(Shared* to) { passed_on = to; }

Shared* shared_with_children() { return passes_on(true) ? passed_on : nullptr; }

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
  char path[32];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  if (!passes_on(false) || !takes_agent(path)) return real().fexecve(file, arguments, environment);
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

THREADMARK_WRAP(int, posix_spawn, pid_t* pid, const char* path,
                const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* attributes,
                char* const* arguments, char* const* environment) {
  const auto start = [&](char* const* with) {
    return real().posix_spawn(pid, path, actions, attributes, arguments, with);
  };
  if (!passes_on(true) || !takes_agent(path)) return start(environment);
  return with_probe(environment, start);
}
THREADMARK_WRAP(int, posix_spawnp, pid_t* pid, const char* file,
                const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* attributes,
                char* const* arguments, char* const* environment) {
  const auto start = [&](char* const* with) {
    return real().posix_spawnp(pid, file, actions, attributes, arguments, with);
  };
  if (!passes_on(true) || !takes_agent_searched(file)) return start(environment);
  return with_probe(environment, start);
}

THREADMARK_WRAP(int, system, const char* command) {
  const Lent lent;
  return real().system(command);
}
THREADMARK_WRAP(FILE*, popen, const char* command, const char* how) {
  const Lent lent;
  return real().popen(command, how);
}

}  // namespace threadmark::agent
