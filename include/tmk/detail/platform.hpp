// What tmk needs of the system: futexes, the asymmetric fence, the number of processors that this
// process may really use, and how much stack is left. Linux only; everything else is standard C++.
#pragma once

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>

#if defined(__SANITIZE_THREAD__)
#define TMK_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TMK_TSAN 1
#endif
#endif
#ifndef TMK_TSAN
#define TMK_TSAN 0
#endif

// For what must be a part of its caller: the future then lives in registers.
#define TMK_INLINE [[gnu::always_inline]] inline

namespace tmk::detail {

// Waits while word == expected, until the deadline of the monotonic clock (null: for ever). May
// return at any time; false: the deadline has passed. A wake is for those whose masks share a bit
// with its own.
inline bool futex_wait_until(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                             const timespec* deadline,
                             std::uint32_t mask = FUTEX_BITSET_MATCH_ANY) {
  return syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, expected, deadline, nullptr, mask) ==
             0 ||
         errno != ETIMEDOUT;
}
inline void futex_wake(const std::atomic<std::uint32_t>& word, int threads,
                       std::uint32_t mask = FUTEX_BITSET_MATCH_ANY) {
  syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, threads, nullptr, nullptr, mask);
}

// The deadline that is so much from now.
inline timespec in(std::chrono::nanoseconds time) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const auto sum = std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec) + time;
  const auto whole = std::chrono::floor<std::chrono::seconds>(sum);
  return {.tv_sec = static_cast<time_t>(whole.count()),
          .tv_nsec = static_cast<long>((sum - whole).count())};
}

// The asymmetric fence: light_fence() on the side that runs often is nothing but a compiler
// barrier, because heavy_fence() on the other side makes every running thread of the process pass a
// full fence. Where the kernel refuses membarrier, the owner's side takes its slow path always.
inline bool register_membarrier() {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}
inline const bool has_membarrier = register_membarrier();

inline void full_fence() {
#if TMK_TSAN  // gcc refuses fences under ThreadSanitizer; a read-modify-write of a private word is
              // one on x86 and arm
  std::atomic<int> word{0};
  word.fetch_add(1);
#else
  // ORDER full-fence: seq_cst, pairs with full-fence. The symmetric form of the argument in
  // scheduler.md.
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}
inline void light_fence() {
  // ORDER light-fence: seq_cst, pairs with heavy-fence. Of the compiler alone.
  std::atomic_signal_fence(std::memory_order_seq_cst);
}
inline void heavy_fence() {
  // ORDER heavy-fence: seq_cst, pairs with light-fence. Through the kernel, for every thread.
  if (!has_membarrier || syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0) {
    full_fence();
  }
}

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Processors that the cgroup's quota allows, rounded up; INT_MAX without a quota. Reads v2 cpu.max
// along the process's path and v1 cpu.cfs_quota_us where they are usually mounted. `root` goes
// before the names of all files.
inline int quota_processors(const std::string& root = "") {
  const auto limit = [](double quota, double period) {
    const double processors = (quota + period - 1) / period;
    return quota > 0 && period > 0 && processors < INT_MAX ? static_cast<int>(processors) : INT_MAX;
  };
  int result = INT_MAX;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    const bool v2 = controllers.empty();
    if (!v2 && ("," + controllers + ",").find(",cpu,") == std::string::npos) continue;
    for (std::size_t slash = 0;; path.erase(slash)) {
      for (const char* mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/cpu",
                                "/sys/fs/cgroup/cpu,cpuacct"}) {
        const std::string group = root + mount + path;
        std::string quota;
        double period = 0;
        if (v2) {
          std::ifstream file(group + "/cpu.max");
          if (!(file >> quota >> period) || quota == "max") continue;
        } else {
          std::ifstream quota_file(group + "/cpu.cfs_quota_us");
          std::ifstream period_file(group + "/cpu.cfs_period_us");
          if (!(quota_file >> quota) || !(period_file >> period)) continue;
        }
        result = std::min(result, limit(std::strtod(quota.c_str(), nullptr), period));
      }
      slash = path.rfind('/');
      if (slash == std::string::npos || path == "/") break;
    }
  }
  return result;
}

// Threads that can really run at once: TMK_NUM_THREADS, else the affinity mask and the quota. At
// least 1.
inline unsigned usable_processors() {
  if (const char* text = std::getenv("TMK_NUM_THREADS")) {
    char* end = nullptr;
    const long wanted = std::strtol(text, &end, 10);
    if (*end == '\0' && wanted >= 1 && wanted <= 4096) return static_cast<unsigned>(wanted);
  }
  cpu_set_t set;
  const int allowed = sched_getaffinity(0, sizeof set, &set) == 0
                          ? CPU_COUNT(&set)
                          : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));  // more than it holds
  return static_cast<unsigned>(std::max(1, std::min(allowed, quota_processors())));
}

// Processor time that a thread has used, in ns; -1 if it is gone. The clock's number is made as
// glibc's pthread_getcpuclockid makes it, which wants a pthread_t that is alive.
inline std::int64_t cpu_ns(pid_t thread) {
  timespec used;
  const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(thread) << 3) | 6u);
  if (clock_gettime(clock, &used) != 0) return -1;
  return std::int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
}
// Whether a thread sleeps in the kernel (and is not merely without a processor).
inline bool is_asleep(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text;
  std::getline(file, text);
  const auto end = text.rfind(')');  // the name before it may contain anything
  if (end == std::string::npos || end + 2 >= text.size()) return false;
  const char state = text[end + 2];
  return state == 'S' || state == 'D';
}

// Where the stack has got to.
inline std::uintptr_t stack_pointer() {
#if defined(__x86_64__)
  std::uintptr_t here;
  asm("mov %%rsp, %0" : "=r"(here));
  return here;
#else
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
#endif
}

// The lowest address that a task run in place may still use. What is below is kept for blocking and
// for the program's own leaves: a quarter of the stack, at most 256 KiB.
inline std::uintptr_t stack_limit() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  void* lowest = nullptr;
  std::size_t size = 0;
  pthread_attr_getstack(&attributes, &lowest, &size);
  pthread_attr_destroy(&attributes);
  return reinterpret_cast<std::uintptr_t>(lowest) +
         std::min<std::size_t>(size / 4, std::size_t{256} << 10);
}

}  // namespace tmk::detail
