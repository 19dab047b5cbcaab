// The ways in which a thread waits for another thread: it pauses between two looks at a word, or
// sleeps in a futex until the word changes or a deadline passes.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdint>
#include <ctime>

namespace tmk::detail {

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits while word == expected, until the deadline of the monotonic clock (null: for ever). May
// return at any time; false: the deadline has passed. A wake reaches the waiters whose masks share
// a bit with the mask of the wake.
inline bool futex_wait_until(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                             const timespec* deadline,
                             std::uint32_t mask = FUTEX_BITSET_MATCH_ANY) {
  return syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, expected, deadline, nullptr, mask) ==
             0 ||
         errno != ETIMEDOUT;
}
// Returns the number of threads that it woke.
inline long futex_wake(const std::atomic<std::uint32_t>& word, int threads,
                       std::uint32_t mask = FUTEX_BITSET_MATCH_ANY) {
  return syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, threads, nullptr, nullptr, mask);
}

// The deadline that lies `time` after now.
inline timespec deadline_in(std::chrono::nanoseconds time) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const auto sum = std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec) + time;
  const auto whole = std::chrono::floor<std::chrono::seconds>(sum);
  return {.tv_sec = static_cast<time_t>(whole.count()),
          .tv_nsec = static_cast<long>((sum - whole).count())};
}

}  // namespace tmk::detail
