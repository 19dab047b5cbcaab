// tmk::mutex, four bytes, whose protocol is mutex.md; tmk::lock, try_lock and scoped_lock over any
// mutexes.
#pragma once

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <mutex>
#include <tuple>
#include <type_traits>
#include <utility>

#include "detail/futex.hpp"

namespace tmk {

namespace detail {
template <std::size_t N>
class LockAll;
}

// lock() spins for a little, then sleeps, because a holder may lose its processor. The first thread
// to come gets a free mutex, but no thread waits for ever: a mutex is kept for threads that have
// waited for longer than kPatience. The mutex is not recursive, and only the thread that locked it
// may unlock it. The protocol and its argument are in mutex.md.
class mutex {
 public:
  constexpr mutex() noexcept = default;
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  bool try_lock() noexcept { return take(kFree, kLocked); }
  void lock() noexcept {
    if (!try_lock()) lock_slowly();
  }
  void unlock() noexcept {
    std::uint32_t seen = kLocked;
    // ORDER free: release, pairs with take; a failure is relaxed, rechecked by free-contended.
    if (!word_.compare_exchange_strong(seen, kFree, std::memory_order_release,
                                       std::memory_order_relaxed)) [[unlikely]] {
      unlock_contended(seen);
    }
  }

 private:
  template <std::size_t N>
  friend class detail::LockAll;

  static constexpr std::uint32_t kFree = 0, kLocked = 1;
  static constexpr std::uint32_t kSleepers = 2;  // a thread that is no starver may sleep
  static constexpr std::uint32_t kStarver = 4;   // a starver; from here on the bits count them
  static constexpr std::uint32_t kWakeSleeper = 1, kWakeStarver = 2;
  static constexpr std::chrono::milliseconds kPatience{5};

  bool take(std::uint32_t seen, std::uint32_t then) noexcept {
    // ORDER take: acquire, pairs with free and free-contended; a failure is relaxed, rechecked by
    // take.
    return word_.compare_exchange_strong(seen, then, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }
  bool change(std::uint32_t seen, std::uint32_t then) noexcept {
    // ORDER change: relaxed, ordered by take: the bits only tell which threads wait.
    return word_.compare_exchange_strong(seen, then, std::memory_order_relaxed);
  }
  std::uint32_t look() const noexcept {
    return word_.load(std::memory_order_relaxed);  // ORDER look: relaxed, rechecked by take.
  }

  [[gnu::noinline]] void lock_slowly() noexcept {
    const timespec patience_end = detail::deadline_in(kPatience);
    if (!wait_until(patience_end)) starve(nullptr);
  }

  // The next holder may destroy the mutex once it is free. From then on this function uses only its
  // address.
  [[gnu::noinline]] void unlock_contended(std::uint32_t seen) noexcept {
    // ORDER free-contended: release, pairs with take; a failure is relaxed, rechecked by
    // free-contended.
    while (!word_.compare_exchange_weak(seen, seen >= kStarver ? seen - kLocked : kFree,
                                        std::memory_order_release, std::memory_order_relaxed)) {
    }
    detail::futex_wake(word_, 1, seen >= kStarver ? kWakeStarver : kWakeSleeper);
  }

  // Waits as a newcomer, then as a sleeper. False: the deadline has passed.
  bool wait_until(const timespec& end) noexcept {
    for (int spins = 0; spins < 100; ++spins) {
      const std::uint32_t seen = look();
      if (seen == kFree && try_lock()) return true;
      if ((seen & ~kLocked) != 0)
        break;  // others wait already, so the mutex is not held for a moment only
      detail::pause();
    }
    for (std::uint32_t mine = kLocked;;) {
      const std::uint32_t seen = look();
      if (seen == kFree) {
        if (take(kFree, mine)) return true;
      } else if ((seen & kSleepers) != 0 || change(seen, seen | kSleepers)) {
        if (!detail::futex_wait_until(word_, seen | kSleepers, &end, kWakeSleeper)) return false;
        mine = kLocked | kSleepers;  // the wake took the bit away, and others may sleep still
      }
    }
  }

  // Waits as a starver until the deadline (null: for ever). False: the deadline has passed.
  bool starve(const timespec* deadline) noexcept {
    // ORDER starve: relaxed, ordered by take.
    word_.fetch_add(kStarver, std::memory_order_relaxed);
    for (bool in_time = true;;) {
      const std::uint32_t seen = look();
      if ((seen & kLocked) == 0) {
        if (take(seen, seen - kStarver + kLocked)) return true;
      } else if (in_time) {
        in_time = detail::futex_wait_until(word_, seen, deadline, kWakeStarver);
      } else if (change(seen, seen - kStarver)) {
        return false;
      }
    }
  }

  std::atomic<std::uint32_t> word_{kFree};
};

// Locks all or none, in the order of the arguments. Returns -1, or the index of the first mutex
// that it could not lock.
template <class L1, class L2, class... L3>
int try_lock(L1& first, L2& second, L3&... others) {
  std::unique_lock<L1> held(first, std::try_to_lock);
  if (!held) return 0;
  int failed = -1;
  if constexpr (sizeof...(others) == 0) {
    if (!second.try_lock()) failed = 1;
  } else {
    failed = tmk::try_lock(second, others...);
    if (failed >= 0) ++failed;
  }
  if (failed < 0) held.release();
  return failed;
}

namespace detail {

// Locks the first and tries the others. Returns 0, or the number of the mutex that it could not
// lock. The caller begins with that mutex next, so it waits only for a mutex that a thread holds.
template <class First, class... Rest>
std::size_t lock_from(First& first, Rest&... rest) {
  std::unique_lock<First> held(first);
  if constexpr (sizeof...(rest) == 1) {
    if (!(rest.try_lock() && ...)) return 1;
  } else if constexpr (sizeof...(rest) > 1) {
    if (const int failed = tmk::try_lock(rest...); failed >= 0)
      return static_cast<std::size_t>(failed) + 1;
  }
  held.release();
  return 0;
}

template <class Mutexes, std::size_t... I>
std::size_t lock_rotated(std::size_t start, Mutexes mutexes, std::index_sequence<I...> /*all*/) {
  constexpr std::size_t n = sizeof...(I);
  std::size_t result = 0;
  const auto attempt = [&]<std::size_t S>() {
    result = lock_from(std::get<(S + I) % n>(mutexes)...);
    if (result != 0) result = (S + result) % n + 1;
  };
  ((start == I ? attempt.template operator()<I>() : void()), ...);
  return result;
}

// Locks several tmk::mutex: as above until the patience ends, then with insist().
template <std::size_t N>
class LockAll {
 public:
  explicit LockAll(std::array<mutex*, N> all) noexcept : all_(all) {}

  void lock() noexcept {
    std::size_t next = 0;
    if (all_[0]->try_lock()) next = with_others(0);
    if (next < N) lock_slowly(next);
  }

 private:
  [[gnu::noinline]] void lock_slowly(std::size_t next) noexcept {
    const timespec patience_end = deadline_in(mutex::kPatience);
    while (all_[next]->wait_until(patience_end)) {
      next = with_others(next);
      if (next == N) return;
      sched_yield();
    }
    insist();
  }

  // The thread holds one mutex. Returns N if it took the others too; else it holds none, and
  // returns the index of the mutex that another thread holds.
  std::size_t with_others(std::size_t held) noexcept {
    for (std::size_t i = 1; i < N; ++i) {
      const std::size_t taken = (held + i) % N;
      if (!all_[taken]->try_lock()) {
        while (i-- > 0) all_[(held + i) % N]->unlock();
        return taken;
      }
    }
    return N;
  }

  // Insisters hold the lower mutexes while they wait for the upper ones, so they form no circle.
  // Other threads may lock in any order. So an insister holds in vain for no longer than it has
  // waited before. Then it frees all, and waits for the mutex that it did not get. The time grows,
  // to outlast any holder. It grows slowly, because the holder may wait for a mutex that the
  // insister holds.
  void insist() noexcept {
    std::sort(all_.begin(), all_.end(), std::less<>());
    for (std::chrono::nanoseconds vain = mutex::kPatience;; vain += mutex::kPatience) {
      all_[0]->starve(nullptr);
      const timespec deadline = deadline_in(vain);
      std::size_t i = 1;
      while (i < N && all_[i]->starve(&deadline)) ++i;
      if (i == N) return;
      const std::size_t missing = i;
      while (i-- > 0) all_[i]->unlock();
      all_[missing]->starve(nullptr);
      if (with_others(missing) == N) return;
    }
  }

  std::array<mutex*, N> all_;
};

}  // namespace detail

// Locks all without deadlock, whatever others lock in whatever order. If a lock throws, none is
// held. If all are tmk::mutex, no thread waits for ever, however often others lock the same
// mutexes.
template <class L1, class L2, class... L3>
void lock(L1& first, L2& second, L3&... others) {
  if constexpr (std::is_same_v<L1, mutex> && std::is_same_v<L2, mutex> &&
                (std::is_same_v<L3, mutex> && ...)) {
    detail::LockAll<2 + sizeof...(L3)>({&first, &second, &others...}).lock();
    return;
  }
  constexpr auto all = std::index_sequence_for<L1, L2, L3...>();
  for (std::size_t start = 0;;) {
    const std::size_t failed = detail::lock_rotated(start, std::tie(first, second, others...), all);
    if (failed == 0) return;
    start = failed - 1;
    sched_yield();
  }
}

// Holds its mutexes, of any number, until it ends.
template <class... M>
class [[nodiscard]] scoped_lock {
 public:
  explicit scoped_lock(M&... mutexes) : mutexes_(mutexes...) {
    if constexpr (sizeof...(M) == 1) {
      (mutexes.lock(), ...);
    } else if constexpr (sizeof...(M) > 1) {
      tmk::lock(mutexes...);
    }
  }
  explicit scoped_lock(std::adopt_lock_t /*tag*/, M&... mutexes) : mutexes_(mutexes...) {}
  scoped_lock(const scoped_lock&) = delete;
  scoped_lock& operator=(const scoped_lock&) = delete;
  ~scoped_lock() {
    std::apply([](M&... each) { (each.unlock(), ...); }, mutexes_);
  }

 private:
  std::tuple<M&...> mutexes_;
};

template <class M>
class [[nodiscard]] scoped_lock<M> {
 public:
  using mutex_type = M;
  explicit scoped_lock(M& mutex) : mutex_(mutex) { mutex.lock(); }
  explicit scoped_lock(std::adopt_lock_t /*tag*/, M& mutex) : mutex_(mutex) {}
  scoped_lock(const scoped_lock&) = delete;
  scoped_lock& operator=(const scoped_lock&) = delete;
  ~scoped_lock() { mutex_.unlock(); }

 private:
  M& mutex_;
};

}  // namespace tmk
