// co_await of a future gives the value or the exception, whether the call is pending, runs
// elsewhere or has ended; no thread waits meanwhile.
#include "tmk/await.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "support.hpp"
#include "tmk/async.hpp"
#include "tmk/pool.hpp"
#include "tmk/promise.hpp"

namespace {

using std::chrono_literals::operator""ms;

// The smallest coroutine: its result is a tmk::future.
template <class R>
struct Result {
  struct promise_type {
    tmk::promise<R> promise;
    Result get_return_object() { return {promise.get_future()}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_value(R value) { promise.set_value(std::move(value)); }
    void unhandled_exception() { promise.set_exception(std::current_exception()); }
  };
  tmk::future<R> future;
};

class Awaits : public testing::TestWithParam<unsigned> {
 protected:
  support::Deadline deadline_;
  tmk::pool pool_{GetParam()};
};

Result<int> twice(tmk::future<int> number) { co_return 2 * co_await number; }

TEST_P(Awaits, a_pending_call_gives_its_value) {
  pool_.run([] {
    for (int i = 0; i < 1000; ++i) {
      EXPECT_EQ(twice(tmk::async([i] { return i; })).future.get(), 2 * i);
    }
  });
}

TEST_P(Awaits, a_call_that_is_ready_or_deferred_gives_its_value_at_once) {
  pool_.run([] {
    tmk::promise<int> promise;
    promise.set_value(4);
    auto result = twice(promise.get_future());
    EXPECT_EQ(result.future.wait_for(0ms), std::future_status::ready);
    EXPECT_EQ(result.future.get(), 8);
    EXPECT_EQ(twice(tmk::async(tmk::launch::deferred, [] { return 5; })).future.get(), 10);
  });
}

TEST_P(Awaits, a_coroutine_that_waits_is_resumed_when_the_promise_is_kept) {
  pool_.run([] {
    tmk::promise<int> promise;
    auto result = twice(promise.get_future());
    EXPECT_NE(result.future.wait_for(1ms), std::future_status::ready);
    promise.set_value(21);
    EXPECT_EQ(result.future.get(), 42);
  });
}

TEST_P(Awaits, the_one_that_keeps_the_promise_does_not_run_the_coroutine_above_its_locks) {
  pool_.run([] {
    struct Own {
      static Result<int> locks(tmk::future<int> number, std::mutex& mutex) {
        const int value = co_await number;
        {
          const std::lock_guard guard(mutex);
        }  // the mutex may be gone when the result is there
        co_return value;
      }
    };
    std::mutex mutex;
    tmk::promise<int> promise;
    auto result = Own::locks(promise.get_future(), mutex);
    {
      const std::lock_guard guard(mutex);
      promise.set_value(1);
    }
    EXPECT_EQ(result.future.get(), 1);
  });
}

TEST_P(Awaits, an_exception_is_thrown_in_the_coroutine) {
  pool_.run([] {
    tmk::promise<int> promise;
    auto result = twice(promise.get_future());
    promise.set_exception(std::make_exception_ptr(std::runtime_error("no")));
    EXPECT_THROW(result.future.get(), std::runtime_error);
    EXPECT_THROW(twice(tmk::async([]() -> int { throw std::logic_error("no"); })).future.get(),
                 std::logic_error);
    EXPECT_THROW(twice({}).future.get(), tmk::future_error);
  });
}

TEST_P(Awaits, a_thousand_coroutines_wait_on_no_thread) {
  pool_.run([this] {
    tmk::promise<int> first;
    std::vector<tmk::future<int>> results;
    results.push_back(first.get_future());
    // Each waits for the one before it.
    for (int i = 0; i < 1000; ++i) {
      struct Own {
        static Result<int> next(tmk::future<int> before) { co_return 1 + co_await before; }
      };
      auto next = Own::next(std::move(results.back())).future;
      results.push_back(std::move(next));
    }
    const auto before = pool_.stats().threads_added;
    first.set_value(0);
    EXPECT_EQ(results.back().get(), 1000);
    EXPECT_LE(pool_.stats().threads_added, before + 2 * GetParam() + 2);
  });
}

// Calls that run elsewhere, also on a thread of their own, end when the coroutine is about to wait.
TEST_P(Awaits, calls_that_end_at_that_moment_are_not_missed) {
  pool_.run([] {
    std::atomic<int> turn{0};
    struct Own {
      static Result<int> sum(std::atomic<int>& turn, int count) {
        int sum = 0;
        for (int i = 0; i < count; ++i) {
          const auto policy = i % 50 == 0 ? tmk::launch::thread : tmk::launch::async;
          auto number = tmk::async(policy, [&turn, i] {
            turn = i + 1;
            return i;
          });
          if (i % 3 == 0) {
            for (int spins = 0; turn <= i && spins < 2000; ++spins) std::this_thread::yield();
          }
          sum += co_await number;
          auto nothing = tmk::async([] {});
          co_await std::move(nothing);
        }
        co_return sum;
      }
    };
    constexpr int kCount = support::sanitized ? 300 : 3000;
    EXPECT_EQ(Own::sum(turn, kCount).future.get(), kCount * (kCount - 1) / 2);
  });
}

// The call is pending, but the thread has no stack left to run it.
TEST_P(Awaits, a_call_that_needs_more_stack_runs_elsewhere) {
  pool_.run([] {
    std::uintptr_t& end = tmk::detail::current_worker->stack_end;
    const std::uintptr_t before = std::exchange(end, UINTPTR_MAX);
    const auto here = std::this_thread::get_id();
    auto result = twice(tmk::async([here] { return std::this_thread::get_id() == here ? 1 : 2; }));
    end = before;
    EXPECT_EQ(result.future.get(), 4);
  });
}

INSTANTIATE_TEST_SUITE_P(Threads, Awaits, testing::Values(1u, 2u, 5u));

}  // namespace
