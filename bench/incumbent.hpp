// The best solution so far of a minimising search. The bound is a word that all tasks read and few
// lower; the solution itself is behind a mutex, and only the check reads it. A bound is never
// raised and no improvement is lost.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <mutex>

#include "bench.hpp"

namespace bench {

template <class Solution>
class Incumbent {
 public:
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

  std::int64_t bound() const { return bound_.load(); }

  // Takes the solution if its cost is below all others'. May be called by many tasks at once.
  void offer(std::int64_t cost, const Solution& solution) {
    std::int64_t bound = bound_.load();
    while (cost < bound && !bound_.compare_exchange_weak(bound, cost)) {
    }
    if (cost >= bound) return;
    const std::lock_guard guard(mutex_);
    if (cost >= cost_) return;  // a better one overtook us between the two steps
    cost_ = cost;
    solution_ = solution;
  }

  // Precondition of these three: no task is running.
  void reset() {
    bound_ = cost_ = kNone;
    solution_ = {};
  }
  std::int64_t cost() const { return cost_; }  // kNone: there is no solution
  const Solution& solution() const { return solution_; }

 private:
  alignas(64) std::atomic<std::int64_t> bound_ = kNone;
  alignas(64) mutex mutex_;
  std::int64_t cost_ = kNone;
  Solution solution_{};
};

}  // namespace bench
