// The lock of a worker. Its holders are quick, so a thread that finds it locked spins; but a holder
// may lose its processor, so the thread then yields its own and at last sleeps for moments.
#pragma once

#include <sched.h>

#include <atomic>
#include <ctime>

#include "futex.hpp"

namespace tmk::detail {

class SpinLock {
 public:
  bool try_lock() {
    // ORDER lock-worker: acquire, pairs with unlock-worker; the look before is relaxed, rechecked
    // by lock-worker.
    return !word_.load(std::memory_order_relaxed) &&
           !word_.exchange(true, std::memory_order_acquire);
  }
  [[gnu::noinline]] void lock() {
    for (int spins = 0; !try_lock(); ++spins) {
      if (spins < 64) {
        pause();
      } else if (spins < 1000) {
        sched_yield();
      } else {
        // A yield does not help a holder that has a lower real-time priority.
        const timespec moment{.tv_sec = 0, .tv_nsec = 50'000};
        nanosleep(&moment, nullptr);
      }
    }
  }
  void unlock() {
    // ORDER unlock-worker: release, pairs with lock-worker.
    word_.store(false, std::memory_order_release);
  }

 private:
  std::atomic<bool> word_{false};
};

}  // namespace tmk::detail
