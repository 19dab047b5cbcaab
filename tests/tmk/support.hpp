// Shared by the tests of tmk: the sanitizer that they run under, an end for hangs, chance,
// and children in which a test may spoil its whole process.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <random>

namespace support {

#if defined(__has_feature)
inline constexpr bool thread_sanitizer = __has_feature(thread_sanitizer);
inline constexpr bool address_sanitizer = __has_feature(address_sanitizer);
#elif defined(__SANITIZE_THREAD__)
inline constexpr bool thread_sanitizer = true, address_sanitizer = false;
#elif defined(__SANITIZE_ADDRESS__)
inline constexpr bool thread_sanitizer = false, address_sanitizer = true;
#else
inline constexpr bool thread_sanitizer = false, address_sanitizer = false;
#endif
inline constexpr bool sanitized = thread_sanitizer || address_sanitizer;

// Ends the process, and with it the test, if the test hangs, because no thread can be ended from
// outside.
class Deadline {
 public:
  explicit Deadline(unsigned seconds = sanitized ? 120 : 60) { alarm(seconds); }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  ~Deadline() { alarm(0); }
};

// Waits for a child: its exit code or, as in a shell, 128 and the number of the signal.
inline int status_of(pid_t child) {
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Runs body() in a child. Returns its status, 0 if body() returned true. A child that hangs ends by
// SIGALRM (142). `orderly`: with the ends of static objects and thread_locals.
template <class F>
int in_child(const F& body, bool orderly = false) {
  const pid_t child = fork();
  if (child != 0) return status_of(child);
  alarm(sanitized ? 60 : 30);
  const int code = body() ? 0 : 1;
  if (orderly) std::exit(code);
  _exit(code);
}

// Processor time of this process, and its memory that is in use.
inline double cpu_seconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}
inline long resident_kib() {
  long pages = 0;
  std::ifstream("/proc/self/statm").ignore(100, ' ') >> pages;
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

// Chance, seeded anew for each thread.
inline std::size_t below(std::size_t n) {
  thread_local std::mt19937_64 generator{std::random_device{}()};
  return generator() % n;
}
inline bool one_in(std::size_t n) { return below(n) == 0; }

}  // namespace support
