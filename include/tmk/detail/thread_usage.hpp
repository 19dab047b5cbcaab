// A thread's use of its processor, which another thread reads from /proc and the thread's clock.
#pragma once

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace tmk::detail {

// Processor time that a thread has used, in ns; -1 if it is gone. The clock's number is computed
// here in the way of glibc's pthread_getcpuclockid, because that function needs a pthread_t that is
// alive.
inline std::int64_t cpu_ns(pid_t thread) {
  timespec used;
  const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(thread) << 3) | 6u);
  if (clock_gettime(clock, &used) != 0) return -1;
  return std::int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
}
// The beginning of /proc/self/task/THREAD/NAME; empty if it cannot be read. It takes no memory from
// the heap, because the watchdog has no caller to which it could report a failure.
struct ThreadFile {
  char text[512];
  ThreadFile(pid_t thread, const char* name) {
    std::snprintf(text, sizeof text, "/proc/self/task/%d/%s", static_cast<int>(thread), name);
    const int file = open(text, O_RDONLY | O_CLOEXEC);
    const ssize_t size = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0) close(file);
    text[std::max<ssize_t>(size, 0)] = '\0';
  }
};
// Whether a thread sleeps in the kernel. A thread that merely waits for a processor does not.
inline bool is_asleep(pid_t thread) {
  const ThreadFile stat(thread, "stat");
  const char* const end = std::strrchr(stat.text, ')');  // the name before it may contain anything
  return end != nullptr && end[1] == ' ' && (end[2] == 'S' || end[2] == 'D');
}
// The number of times that a thread got a processor; 0 if the kernel does not count them.
inline std::uint64_t times_scheduled(pid_t thread) {
  const ThreadFile schedstat(thread, "schedstat");
  std::uint64_t count = 0;
  return std::sscanf(schedstat.text, "%*u %*u %" SCNu64, &count) == 1 ? count : 0;
}

}  // namespace tmk::detail
