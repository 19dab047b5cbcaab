// Alternative ways to lock two mutexes for tmk::lock. The names are those of Hinnant, "Dining
// philosophers rebooted" (2013); the queues are ours. They are only measured here and not for use.
#pragma once

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

namespace candidates {

// Always begins with the first: waits there only, and asks for the second again and again.
struct Persistent {
  static void lock(auto& first, auto& second) {
    for (;;) {
      first.lock();
      if (second.try_lock()) return;
      first.unlock();
      sched_yield();
    }
  }
};

// Begins the next round with the mutex that was taken.
template <bool kPolite>
struct Smart {
  static void lock(auto& a, auto& b) {
    for (auto *first = &a, *second = &b;; std::swap(first, second)) {
      first->lock();
      if (second->try_lock()) return;
      first->unlock();
      if constexpr (kPolite) sched_yield();
    }
  }
};

// Holds the lower one while it waits for the upper one.
struct Ordered {
  static void lock(auto& a, auto& b) {
    const bool in_order = std::less<>()(&a, &b);
    (in_order ? a : b).lock();
    (in_order ? b : a).lock();
  }
};

// First come, first served, with a handover: a ticket lock whose waiters sleep.
class Ticket {
 public:
  void lock() {
    // ORDER draw-ticket: relaxed, ordered by see-turn.
    const std::uint32_t ticket = next_.fetch_add(1, std::memory_order_relaxed);
    for (;;) {
      // ORDER see-turn: acquire, pairs with call-next.
      const std::uint32_t serving = serving_.load(std::memory_order_acquire);
      if (serving == ticket) return;
      syscall(SYS_futex, &serving_, FUTEX_WAIT_BITSET_PRIVATE, serving, nullptr, nullptr,
              1U << ticket % 32);
    }
  }
  bool try_lock() {
    // ORDER free-ticket: acquire, pairs with call-next.
    std::uint32_t serving = serving_.load(std::memory_order_acquire);
    // ORDER take-free: relaxed, ordered by free-ticket.
    return next_.compare_exchange_strong(serving, serving + 1, std::memory_order_relaxed);
  }
  void unlock() {
    const std::uint32_t serving = serving_ + 1;
    // A waiter draws before it looks at serving_, and this looks after it has changed that.
    serving_.store(serving);  // ORDER call-next: seq_cst by default, pairs with see-turn.
    if (next_ != serving) {
      syscall(SYS_futex, &serving_, FUTEX_WAKE_BITSET_PRIVATE, INT_MAX, nullptr, nullptr,
              1U << serving % 32);
    }
  }

 private:
  std::atomic<std::uint32_t> next_{0};
  std::atomic<std::uint32_t> serving_{0};
};

// One queue for all pairs: a thread that cannot have both mutexes sleeps holding none, and a thread
// that unlocks two gives them to the oldest waiter that can now have both. With kStrict no thread
// passes an older waiter for the same mutex, so no thread starves; without it, a thread takes a
// free pair.
template <bool kStrict>
class Queue {
 public:
  class mutex {
   public:
    void unlock() { Queue::lay_down(*this); }

   private:
    friend Queue;
    bool held_ = false;
    bool wanted_ = false;  // by a waiter older than the present one
  };

  static void lock(mutex& a, mutex& b) {
    Waiter self{.wants = {&a, &b}};
    {
      const std::lock_guard held(guard);
      *last = &self;
      last = &self.next;
      serve();
    }
    // ORDER served: acquire, pairs with serve.
    while (self.served.load(std::memory_order_acquire) == 0)
      syscall(SYS_futex, &self.served, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
  }

 private:
  struct Waiter {
    std::array<mutex*, 2> wants;
    Waiter* next = nullptr;
    std::atomic<std::uint32_t> served{0};
  };

  static void lay_down(mutex& one) {
    const std::lock_guard held(guard);
    one.held_ = false;
    serve();
  }
  static void serve() {
    for (Waiter* each = first; each != nullptr; each = each->next)
      for (mutex* one : each->wants) one->wanted_ = false;
    for (Waiter** link = &first; *link != nullptr;) {
      Waiter& waiter = **link;
      const auto free = [](const mutex* one) { return !one->held_ && !(kStrict && one->wanted_); };
      if (free(waiter.wants[0]) && free(waiter.wants[1])) {
        for (mutex* one : waiter.wants) one->held_ = true;
        *link = waiter.next;
        if (*link == nullptr) last = link;
        // ORDER serve: release, pairs with served. From here on the waiter may be gone.
        waiter.served.store(1, std::memory_order_release);
        syscall(SYS_futex, &waiter.served, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
      } else {
        for (mutex* one : waiter.wants) one->wanted_ = true;
        link = &waiter.next;
      }
    }
  }

  static inline std::mutex guard;
  static inline Waiter* first = nullptr;
  static inline Waiter** last = &first;
};

}  // namespace candidates
