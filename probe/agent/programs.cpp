// The start of another program by exec, posix_spawn, system and popen, and the environment for it.
// A target may call all but the last two at places where malloc is not allowed: after vfork, in a
// signal handler.
#include "probe/agent/programs.hpp"

#include <fcntl.h>
#include <linux/prctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdarg>
#include <cstring>

#include "probe/agent/real.hpp"
#include "probe/agent/state.hpp"
#include "probe/agent/system.hpp"
#include "probe/program_file.hpp"

namespace threadmark::agent {

namespace {

constexpr char kProbe[] = "THREADMARK_PROBE=";
constexpr char kPreload[] = "LD_PRELOAD=";
constexpr std::size_t kProbeLength = sizeof kProbe - 1, kPreloadLength = sizeof kPreload - 1;

// The two variables as this process got them, for the programs that it starts.
char probe_entry[256], agent_path[4096];
Shared* passed_on = nullptr;

bool begins(const char* text, const char* with, std::size_t length) {
  return std::strncmp(text, with, length) == 0;
}

// Removes the word itself, whatever its text is.
void remove(char** environment, const char* text) {
  char** to = environment;
  for (char** from = environment; *from != nullptr; ++from)
    if (*from != text) *to++ = *from;
  *to = nullptr;
}

bool read_at(long file, std::uint64_t offset, void* to, std::size_t size) {
  return raw_call(SYS_pread64, file, as_word(to), static_cast<long>(size),
                  static_cast<long>(offset)) == static_cast<long>(size);
}

// Whether the loader of this ELF file would preload the agent without a message.
bool loads_agent(long file, ProgramFile& of) {
  struct stat about{};
  if (raw_call(SYS_fstat, file, as_word(&about)) != 0 || (about.st_mode & (S_ISUID | S_ISGID)) != 0)
    return false;
  of = read_program([&](std::uint64_t offset, void* to, std::size_t size) {
    return read_at(file, offset, to, size);
  });
  return of.loader == ProgramFile::of_glibc && of.runtimes_fit;
}

// Whether the variables do no harm in a program. The program of a script is its interpreter.
bool takes_agent(const char* path, ProgramFile& of) {
  char head[256], interpreter[256];
  for (int depth = 0; depth < 5; ++depth) {
    const long file =
        raw_call(SYS_openat, AT_FDCWD, as_word(path), O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (file < 0) return false;
    const long got =
        raw_call(SYS_pread64, file, as_word(head), static_cast<long>(sizeof head - 1), 0);
    head[got > 0 ? got : 0] = '\0';
    const bool is_elf = got > SELFMAG && std::memcmp(head, ELFMAG, SELFMAG) == 0;
    const bool loads = is_elf && loads_agent(file, of);
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

const char* search_path() {
  for (char** at = environ; at != nullptr && *at != nullptr; ++at)
    if (begins(*at, "PATH=", 5)) return *at + 5;
  return "/bin:/usr/bin";
}

bool takes_agent(int file, ProgramFile& of) {
  if (file < 0) return false;
  char path[32] = "/proc/self/fd/";
  char* end = path + std::strlen(path);
  for (int left = file; left >= 10; left /= 10) ++end;
  for (int left = file; end[0] = static_cast<char>('0' + left % 10), left >= 10; left /= 10) --end;
  return takes_agent(path, of);
}

bool takes_agent_searched(const char* name, ProgramFile& of) {
  if (std::strchr(name, '/') != nullptr) return takes_agent(name, of);
  const char* rest = search_path();
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
        return takes_agent(path, of);
    }
    if (rest[folder] == '\0') return false;
    rest += folder + 1;
  }
}

// If no recorder records any more, a program starts as it would without the agent.
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

// Whether the word is one of the two variables that another thread has lent to the environment
// meanwhile.
bool is_lent(char* const* at) { return at[0] == probe_entry || at[1] == probe_entry; }

const char* preload_of(char* const* from) {
  const char* last = kPreload;
  for (char* const* at = from; at != nullptr && *at != nullptr; ++at)
    if (begins(*at, kPreload, kPreloadLength) && !is_lent(at)) last = *at;
  return last;
}

// The space for the two variables: words, and bytes of text.
constexpr std::size_t kMoreWords = 3;
std::size_t text_size(char* const* from, const ProgramFile& of) {
  return std::strlen(preload_of(from)) + 1 + std::strlen(of.runtimes) + std::strlen(agent_path) + 1;
}

// The two variables come last. Of several variables LD_PRELOAD the loader takes the last.
void fill(char* const* from, const ProgramFile& of, char** to, char* text) {
  std::strcpy(text, preload_of(from));
  if (text[kPreloadLength] != '\0') std::strcat(text, ":");
  std::strcat(std::strcat(text, of.runtimes), agent_path);
  for (; from != nullptr && *from != nullptr; ++from)
    if (!is_lent(from)) *to++ = *from;
  *to++ = text;
  *to++ = probe_entry;
  *to = nullptr;
}

// Calls `call` with the environment in which the next program goes on recording.
template <class Call>
int with_probe(char* const* from, const ProgramFile& of, Call call) {
  auto** to = static_cast<char**>(__builtin_alloca((length_of(from) + kMoreWords) * sizeof(char*)));
  fill(from, of, to, static_cast<char*>(__builtin_alloca(text_size(from, of))));
  return call(to);
}

int replace(const char* path, char* const* arguments, char* const* environment) {
  ProgramFile of;
  if (!passes_on(false) || !takes_agent(path, of))
    return real().execve(path, arguments, environment);
  return with_probe(environment, of,
                    [&](char* const* with) { return real().execve(path, arguments, with); });
}

int replace_searched(const char* file, char* const* arguments, char* const* environment) {
  ProgramFile of;
  if (!passes_on(false) || !takes_agent_searched(file, of))
    return real().execvpe(file, arguments, environment);
  return with_probe(environment, of,
                    [&](char* const* with) { return real().execvpe(file, arguments, with); });
}

// For functions that give a child the environment of this process and take no other. `environ` is
// another array meanwhile. The memory of that array stays, because other threads may still read it.
class Lent {
 public:
  Lent() {
    if (environ == nullptr || !passes_on(true) || !takes_agent("/bin/sh", of_)) return;
    while (!lend()) {  // another thread changed it meanwhile
    }
  }
  ~Lent() {
    if (lent_ == nullptr) return;
    char** expected = lent_;
    if (environ == lent_ && of_words(lent_) != words_) give_back_changes();
    if (!__atomic_compare_exchange_n(&environ, &expected, before_, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST)) {
      // Another thread has added a variable: the C library made a copy, perhaps in place of the old
      // array.
      remove(environ, text_);
      remove(environ, probe_entry);
    }
    if (memory_ == kept) publish(kept_used, 0);
  }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;

 private:
  static constexpr std::size_t kKept = std::size_t{256} << 10;
  static inline constinit void* kept = nullptr;
  static inline constinit std::atomic<std::uint8_t> kept_used{0};

  // False if the environment is no longer the copied one.
  bool lend() {
    before_ = environ;
    if (before_ == nullptr) return true;
    const std::size_t words = length_of(before_) + kMoreWords;
    const std::size_t size = words * sizeof(char*) + text_size(before_, of_);
    memory_ = memory(size);
    if (memory_ == nullptr) return true;
    auto** filled = static_cast<char**>(memory_);
    text_ = static_cast<char*>(memory_) + words * sizeof(char*);
    fill(before_, of_, filled, text_);
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

  // Gives back the variables that another thread replaced or took away. The C library does that
  // within the array, so the array never has more variables than before.
  void give_back_changes() {
    char** to = before_;
    for (char** from = lent_; *from != nullptr; ++from)
      if (*from != probe_entry && *from != text_) *to++ = *from;
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

  ProgramFile of_;
  char** before_ = nullptr;
  char** lent_ = nullptr;
  std::uint64_t words_ = 0;  // of the lent array
  char* text_ = nullptr;
  void* memory_ = nullptr;
};

// The kernel knows the bounds of the environment that the program was started with, and shows the
// bytes between them in /proc/PID/environ. The bounds end at `end` from now on.
void end_environment(const char* end) {
  // The kernel accepts only all bounds of the process at once.
  prctl_mm_map map{};
  struct Field {
    int number;  // in /proc/self/stat
    __u64* to;
  };
  __u64 threads = 0;
  const Field fields[] = {{20, &threads},         {26, &map.start_code}, {27, &map.end_code},
                          {28, &map.start_stack}, {45, &map.start_data}, {46, &map.end_data},
                          {47, &map.start_brk},   {48, &map.arg_start},  {49, &map.arg_end},
                          {50, &map.env_start},   {51, &map.env_end}};
  char text[1024];
  const long file =
      raw_call(SYS_openat, AT_FDCWD, as_word("/proc/self/stat"), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  const long got = raw_call(SYS_read, file, as_word(text), sizeof text - 1);
  raw_call(SYS_close, file);
  if (got <= 0) return;
  text[got] = '\0';
  const char* at = std::strrchr(text, ')');  // the second field may have spaces
  int number = 2;
  for (const Field& field : fields) {
    for (; at != nullptr && number < field.number; ++number) at = std::strchr(at + 1, ' ');
    if (at == nullptr) return;
    for (const char* digit = at + 1; *digit >= '0' && *digit <= '9'; ++digit)
      *field.to = *field.to * 10 + static_cast<__u64>(*digit - '0');
  }
  const auto from = reinterpret_cast<__u64>(end);
  // Another thread may move the end of the heap meanwhile.
  if (threads != 1 || from < map.env_start || from > map.env_end) return;
  map.env_end = from;
  map.brk = static_cast<__u64>(raw_call(SYS_brk));
  map.exe_fd = ~__u32{0};  // stays
  raw_call(SYS_prctl, PR_SET_MM, PR_SET_MM_MAP, as_word(&map), sizeof map);
}

}  // namespace

bool take_environment(char** first) {
  char** probe = nullptr;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at)
    if (begins(*at, kProbe, kProbeLength)) probe = at;
  if (probe == nullptr || probe == environ) return false;
  char* const texts[] = {probe[-1], *probe};
  const char* path = std::strrchr(texts[0], ':');
  path = path != nullptr ? path + 1 : texts[0] + kPreloadLength;
  const bool fits = begins(texts[0], kPreload, kPreloadLength) &&
                    std::strlen(path) < sizeof agent_path &&
                    std::strlen(texts[1]) < sizeof probe_entry;
  if (!fits) return false;
  std::strcpy(agent_path, path);
  std::strcpy(probe_entry, texts[1]);
  for (char* text : texts) {
    remove(environ, text);
    if (first != environ) remove(first, text);
    std::memset(text, 0, std::strlen(text));
  }
  end_environment(texts[0]);
  return true;
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
  ProgramFile of;
  if (!passes_on(false) || !takes_agent(file, of))
    return real().fexecve(file, arguments, environment);
  return with_probe(environment, of,
                    [&](char* const* with) { return real().fexecve(file, arguments, with); });
}

// The arguments of the execl family as an array. For execle the environment follows their end.
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
  ProgramFile of;
  if (!passes_on(true) || !takes_agent(path, of)) return start(environment);
  return with_probe(environment, of, start);
}
THREADMARK_WRAP(int, posix_spawnp, pid_t* pid, const char* file,
                const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* attributes,
                char* const* arguments, char* const* environment) {
  const auto start = [&](char* const* with) {
    return real().posix_spawnp(pid, file, actions, attributes, arguments, with);
  };
  ProgramFile of;
  if (!passes_on(true) || !takes_agent_searched(file, of)) return start(environment);
  return with_probe(environment, of, start);
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
