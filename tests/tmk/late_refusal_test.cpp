// The kernel grants membarrier at the start and refuses it later, as it does if a program
// installs a filter of system calls for itself.
#define TMK_ASSERTIONS

#include <gtest/gtest.h>
#include <linux/membarrier.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <thread>

#include "refuse_membarrier.hpp"
#include "support.hpp"
#include "tmk/async.hpp"

namespace {

constinit std::atomic<bool> expedited_refused = false, all_refused = false;
std::atomic<long> refusals = 0;

}  // namespace

bool refuses_membarrier(int command) {
  const bool result =
      all_refused || (expedited_refused && command == MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  refusals += result ? 1 : 0;
  return result;
}

namespace {

using support::in_child;

// The light side stores and loads without a fence of the processor. At least one side must read the
// value that the other stored.
bool a_store_is_seen_by_one_side_at_least() {
  struct alignas(128) Word {
    std::atomic<int> value = 0;
  } x, y, round, done;
  constexpr int kEnd = INT_MAX;
  int light_saw = 0;
  std::thread light([&] {
    for (int i = 1;; ++i) {
      while (round.value.load(std::memory_order_acquire) < i) {
      }
      if (round.value.load(std::memory_order_acquire) == kEnd) return;
      x.value.store(i, std::memory_order_relaxed);
      tmk::detail::light_fence();
      light_saw = y.value.load(std::memory_order_relaxed);
      done.value.store(i, std::memory_order_release);
    }
  });
  bool good = true;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  for (int i = 1; good && std::chrono::steady_clock::now() < end; ++i) {
    round.value.store(i, std::memory_order_release);
    y.value.store(i, std::memory_order_relaxed);
    tmk::detail::heavy_fence();
    const int heavy_saw = x.value.load(std::memory_order_relaxed);
    while (done.value.load(std::memory_order_acquire) < i) {
    }
    good = heavy_saw == i || light_saw == i;
  }
  round.value.store(kEnd, std::memory_order_release);
  light.join();
  return good;
}

int fib(int n) {
  if (n < 2) return n;
  auto a = tmk::async(fib, n - 1);
  auto b = tmk::async(fib, n - 2);
  return a.get() + b.get();
}

TEST(LateRefusal, leaves_the_asymmetric_fence_in_force) {
  if (support::thread_sanitizer) GTEST_SKIP() << "ThreadSanitizer knows no asymmetric fence";
  ASSERT_TRUE(tmk::detail::has_membarrier);
  for (auto* which : {&expedited_refused, &all_refused}) {
    EXPECT_EQ(in_child([&] {
                *which = true;
                return a_store_is_seen_by_one_side_at_least() && refusals > 0;
              }),
              0);
  }
}

TEST(LateRefusal, loses_no_task_and_runs_none_twice) {
  if (support::thread_sanitizer) GTEST_SKIP() << "ThreadSanitizer starts no threads after a fork";
  for (auto* which : {&expedited_refused, &all_refused}) {
    EXPECT_EQ(in_child([&] {
                if (fib(12) != 144) return false;
                *which = true;
                for (int i = 0; i < 20; ++i) {
                  if (fib(12) != 144) return false;
                }
                // In a child of fork, the registration is refused, too.
                return in_child([] { return fib(12) == 144; }) == 0;
              }),
              0);
  }
}

}  // namespace
