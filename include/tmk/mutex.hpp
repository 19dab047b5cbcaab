// tmk::mutex, one word; tmk::lock, try_lock and scoped_lock over any mutexes.
#pragma once

#include <sched.h>

#include <array>
#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <tuple>
#include <utility>

#include "detail/platform.hpp"

namespace tmk {

// Spins for a little, then sleeps: right for a holder that may lose its processor. Not recursive,
// not fair; unlocking by another thread than the one that locked is an error.
class mutex {
 public:
  constexpr mutex() noexcept = default;
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  bool try_lock() noexcept {
    std::uint32_t expected = kFree;
    // ORDER lock-mutex: acquire, pairs with unlock-mutex. A failed attempt learns nothing.
    return word_.compare_exchange_strong(expected, kLocked, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }
  void lock() noexcept {
    if (!try_lock()) lock_slowly();
  }
  void unlock() noexcept {
    // ORDER unlock-mutex: release, pairs with lock-mutex.
    if (word_.exchange(kFree, std::memory_order_release) == kContended) {
      detail::futex_wake(word_, 1);
    }
  }

 private:
  static constexpr std::uint32_t kFree = 0, kLocked = 1;
  static constexpr std::uint32_t kContended = 2;  // locked, and somebody may sleep

  [[gnu::noinline]] void lock_slowly() noexcept {
    for (int spins = 0; spins < 100; ++spins) {
      // ORDER spin: relaxed, rechecked by lock-mutex.
      const std::uint32_t seen = word_.load(std::memory_order_relaxed);
      if (seen == kContended) break;  // others sleep already: it is not held for a moment only
      if (seen == kFree && try_lock()) return;
      detail::pause();
    }
    // ORDER lock-contended: acquire, pairs with unlock-mutex.
    while (word_.exchange(kContended, std::memory_order_acquire) != kFree) {
      detail::futex_wait_until(word_, kContended, nullptr);
    }
  }

  std::atomic<std::uint32_t> word_{kFree};
};

// Locks all or none, in the order of the arguments: -1, or the index of the first that was taken.
template <class L1, class L2, class... L3>
int try_lock(L1& first, L2& second, L3&... others) {
  std::unique_lock<L1> held(first, std::try_to_lock);
  if (!held) return 0;
  int failed = -1;
  if constexpr (sizeof...(others) == 0) {
    if (!second.try_lock()) failed = 1;
  } else {
    failed = try_lock(second, others...);
    if (failed >= 0) ++failed;
  }
  if (failed < 0) held.release();
  return failed;
}

namespace detail {

// Locks the first, tries the others, and on a failure begins again with the one that was taken: it
// waits only for what is held. Gives its processor away before, so that the holder may get on.
template <class First, class... Rest>
std::size_t lock_from(First& first, Rest&... rest) {
  std::unique_lock<First> held(first);
  if constexpr (sizeof...(rest) == 1) {
    if (!(rest.try_lock() && ...)) return 1;
  } else if constexpr (sizeof...(rest) > 1) {
    if (const int failed = try_lock(rest...); failed >= 0)
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

}  // namespace detail

// Locks all without deadlock, whatever others lock in whatever order. If one throws, none is held.
template <class L1, class L2, class... L3>
void lock(L1& first, L2& second, L3&... others) {
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
