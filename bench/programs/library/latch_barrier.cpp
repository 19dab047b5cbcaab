// Latches and barriers for one thread, which no other thread knows: they never wait. Two threads
// share only the library's table of waiters.
#include <atomic>
#include <barrier>
#include <condition_variable>
#include <cstdint>
#include <latch>
#include <mutex>
#include <new>
#include <string>
#include <thread>

#include "contention.hpp"

namespace {

// A fresh latch of one, counted down and waited for; or looked at, and waited for if it is closed.
template <bool kLook>
struct own_latch {
  explicit own_latch(unsigned) {}
  struct contender {
    contender(own_latch&, unsigned) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) {
        std::latch& latch = *new (place.bytes) std::latch(1);
        bench::escape(&latch);
        latch.count_down();
        if (!kLook || !latch.try_wait()) latch.wait();
        passed += latch.try_wait() ? 1U : 0U;
      }
    }
    std::string check(std::uint64_t n) const {
      return passed == n ? "" : "a latch that was counted down is not open";
    }
    struct alignas(bench::cache_line) {
      unsigned char bytes[sizeof(std::latch)];
    } place;  // a latch has nothing to destroy
    std::uint64_t passed = 0;
  };
};

// A barrier with its own mutex and condition_variable, for any number of threads.
class OwnBarrier {
 public:
  explicit OwnBarrier(unsigned threads) : threads_(threads) {}
  void arrive_and_wait() {
    std::unique_lock lock(mutex_);
    if (++come_ == threads_) {
      come_ = 0;
      ++phase_;
      changed_.notify_all();
      return;
    }
    changed_.wait(lock, [this, before = phase_] { return phase_ != before; });
  }
  std::uint64_t phase() {
    const std::lock_guard lock(mutex_);
    return phase_;
  }

 private:
  const unsigned threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned come_ = 0;
  std::uint64_t phase_ = 0;
};

// A barrier of one.
struct own_barrier {
  explicit own_barrier(unsigned) {}
  struct alignas(bench::cache_line) contender {
    struct Count {
      void operator()() noexcept { ++phases; }
      std::uint64_t& phases;
    };
    contender(own_barrier&, unsigned) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) barrier.arrive_and_wait();
    }
    std::string check(std::uint64_t n) const {
      return phases == n ? "" : "the barrier completed another number of phases";
    }
    std::uint64_t phases = 0;
    std::barrier<Count> barrier{1, Count{phases}};
  };
};

struct own_condition {
  explicit own_condition(unsigned) {}
  struct alignas(bench::cache_line) contender {
    contender(own_condition&, unsigned) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) barrier.arrive_and_wait();
    }
    std::string check(std::uint64_t n) {
      return barrier.phase() == n ? "" : "the barrier completed another number of phases";
    }
    OwnBarrier barrier{1};
  };
  // Between two threads it lets nobody pass before the other has come.
  std::string check(std::uint64_t) const {
    constexpr unsigned kPhases = 100;
    OwnBarrier barrier(2);
    std::atomic<unsigned> come{0};
    bool early = false;
    const auto meet = [&] {
      for (unsigned phase = 1; phase <= kPhases; ++phase) {
        come.fetch_add(1);
        barrier.arrive_and_wait();
        if (come.load() < 2 * phase) return true;
      }
      return false;
    };
    std::thread other([&] { early = meet(); });
    const bool here = meet();
    other.join();
    return early || here ? "a thread has passed the barrier before the other came" : "";
  }
};

}  // namespace

CONTENTION_PROGRAM(.name = "latch_barrier",
                   .summary = "latches and barriers that have nothing to do with each other",
                   .operation = "pass a latch or a barrier of one thread",
                   .origin = "Threadmark; libstdc++ bits/atomic_wait.h",
                   .ways = {
                       bench::usual<own_latch<false>>("own_latch",
                                                      "a fresh latch of one: count down and wait"),
                       bench::usual<own_barrier>("own_barrier",
                                                 "a barrier of one: arrive and wait"),
                       bench::remedy<own_latch<true>>("own_latch_look",
                                                      "the same, with a look before the wait"),
                       bench::remedy<own_condition>(
                           "own_condition",
                           "a barrier of one with its own mutex and condition_variable"),
                   })
