// [futures.state]: the rules common to all shared states, for all providers and return objects.
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "subject.hpp"

namespace conformance {
namespace {

using FuturesState = Clause;
using subject::future;
using subject::future_errc;
using subject::future_status;
using subject::packaged_task;
using subject::promise;
using subject::shared_future;

// p2: the result lives in the state, which lives as long as an object refers to it
TEST_F(FuturesState, the_state_outlives_its_provider) {
  future<MoveOnly> value;
  future<int> failed;
  {
    promise<MoveOnly> a;
    promise<int> b;
    value = a.get_future();
    failed = b.get_future();
    a.set_value(MoveOnly(3));
    b.set_exception(std::make_exception_ptr(std::runtime_error("kept")));
  }
  EXPECT_EQ(value.get().value, 3);
  EXPECT_THROW(failed.get(), std::runtime_error);
}

// p5: the last reference destroys the state, and the result in it
TEST_F(FuturesState, the_result_ends_with_the_last_reference) {
  const auto numbers = Counted::count();
  {
    promise<Counted> provider;
    {
      const shared_future<Counted> first = provider.get_future().share();
      {
        const shared_future<Counted> second = first;
        provider.set_value(Counted(numbers));
        EXPECT_EQ(numbers->alive, 1);
      }
      EXPECT_EQ(numbers->alive, 1);
    }
    EXPECT_EQ(numbers->alive, 1);
  }
  EXPECT_EQ(numbers->alive, 0);
}

TEST_F(FuturesState, a_result_that_nobody_fetches_is_destroyed_once) {
  const auto numbers = Counted::count();
  {
    promise<Counted> never_asked;
    never_asked.set_value(Counted(numbers));
    packaged_task<Counted()> task([&] { return Counted(numbers); });
    const future<Counted> unread = task.get_future();
    task();
    const auto launched = subject::async(subject::launch::async, [&] { return Counted(numbers); });
    const auto threaded = subject::async(new_thread, [&] { return Counted(numbers); });
    launched.wait();
    threaded.wait();
    EXPECT_EQ(numbers->alive, 4);
  }
  EXPECT_EQ(numbers->alive, 0);
}

TEST_F(FuturesState, an_exception_that_nobody_fetches_is_destroyed) {
  const auto numbers = Counted::count();
  {
    promise<void> provider;
    provider.set_exception(std::make_exception_ptr(Counted(numbers)));
    const auto launched = subject::async(subject::launch::async, [&] { throw Counted(numbers); });
    launched.wait();
  }
  EXPECT_EQ(numbers->alive, 0);
}

// p5: the release of a state does not block, unless it is the last reference to a state of async
TEST_F(FuturesState, releasing_what_a_promise_provides_does_not_block) {
  promise<int> provider;
  {
    const future<int> dropped = provider.get_future();
  }
  promise<int> other;
  future<int> assigned = other.get_future();
  assigned = future<int>();
  packaged_task<int()> task([] { return 1; });
  {
    const shared_future<int> dropped = task.get_future().share();
  }
  SUCCEED();
}

TEST_F(FuturesState, releasing_one_reference_of_several_to_an_async_does_not_block) {
  for (const auto policy : {subject::launch::async, new_thread}) {
    std::latch gate(1);
    shared_future<void> last = subject::async(policy, [&] { gate.wait(); }).share();
    {
      const shared_future<void> dropped = last;
      shared_future<void> moved = last;
      shared_future<void> assigned = last;
      assigned = shared_future<void>();
      moved = std::move(assigned);
    }
    gate.count_down();
    last.wait();
  }
}

// Runs `release` on the last reference to an async whose call has not ended: it must wait for that.
template <class Release>
void expect_to_block(const Release& release) {
  for (const auto policy : {subject::launch::async, new_thread}) {
    std::latch gate(1);
    bool ended = false;  // plain: the release must also synchronise
    future<void> last = subject::async(policy, [&] {
      gate.wait();
      ended = true;
    });
    std::thread opener([&] {
      std::this_thread::sleep_for(a_while);
      gate.count_down();
    });
    release(last);
    EXPECT_TRUE(ended);
    opener.join();
  }
}
TEST_F(FuturesState, destroying_the_last_reference_to_an_async_blocks) {
  expect_to_block([](future<void>& last) { const future<void> destroyed = std::move(last); });
}
TEST_F(FuturesState, assigning_to_the_last_reference_to_an_async_blocks) {
  expect_to_block([](future<void>& last) { last = future<void>(); });
}
TEST_F(FuturesState, destroying_the_last_shared_reference_to_an_async_blocks) {
  expect_to_block([](future<void>& last) {
    shared_future<void> first = last.share();
    const shared_future<void> second = first;
    first = shared_future<void>();
  });
}
TEST_F(FuturesState, assigning_to_the_last_shared_reference_to_an_async_blocks) {
  expect_to_block([](future<void>& last) {
    shared_future<void> only = last.share();
    const shared_future<void> none;
    only = none;
  });
}

// p6: a state made ready wakes all waiting threads, for each form of waiting
TEST_F(FuturesState, a_state_made_ready_wakes_all_who_wait) {
  promise<int> provider;
  const shared_future<int> result = provider.get_future().share();
  std::atomic<int> seen{0};
  std::vector<std::thread> waiters;
  for (int i = 0; i < 12; ++i) {
    waiters.emplace_back([&, i, mine = result] {
      if (i % 3 == 0) mine.wait();
      if (i % 3 == 1) {
        EXPECT_EQ(mine.wait_for(1h), future_status::ready);
      }
      seen += mine.get();
    });
  }
  std::this_thread::sleep_for(a_while);
  EXPECT_EQ(seen, 0);
  provider.set_value(1);
  for (std::thread& each : waiters) each.join();
  EXPECT_EQ(seen, 12);
}

// p7: abandoned states hold broken_promise
TEST_F(FuturesState, an_abandoned_state_is_ready_with_broken_promise) {
  future<int> promised, task;
  {
    promise<int> provider;
    promised = provider.get_future();
    packaged_task<int()> never_called([] { return 1; });
    task = never_called.get_future();
    EXPECT_EQ(promised.wait_for(0s), future_status::timeout);
    EXPECT_EQ(task.wait_for(0s), future_status::timeout);
  }
  EXPECT_EQ(promised.wait_for(0s), future_status::ready);
  EXPECT_EQ(task.wait_for(0s), future_status::ready);
  EXPECT_EQ(code_of([&] { return promised.get(); }), future_errc::broken_promise);
  EXPECT_EQ(code_of([&] { return task.get(); }), future_errc::broken_promise);
}

TEST_F(FuturesState, abandoning_wakes_who_waits) {
  auto provider = std::make_unique<promise<void>>();
  future<void> result = provider->get_future();
  std::thread waiter(
      [&] { EXPECT_EQ(code_of([&] { return result.get(), 0; }), future_errc::broken_promise); });
  std::this_thread::sleep_for(a_while);
  provider.reset();
  waiter.join();
}

TEST_F(FuturesState, abandoning_a_ready_state_leaves_its_result) {
  future<int> result;
  {
    promise<int> provider;
    result = provider.get_future();
    provider.set_value(5);
  }
  EXPECT_EQ(result.get(), 5);
}

// p9: setting the result synchronises with every thread that detects it, by any function
TEST_F(FuturesState, what_is_written_before_the_result_is_seen_after_it) {
  for (int how = 0; how < 4; ++how) {
    int plain = 0;
    promise<void> provider;
    const shared_future<void> result = provider.get_future().share();
    std::thread writer([&] {
      plain = 42;
      provider.set_value();
    });
    if (how == 0) result.get();
    if (how == 1) result.wait();
    if (how == 2) {
      EXPECT_EQ(result.wait_for(1h), future_status::ready);
    }
    while (how == 3 && result.wait_for(0s) != future_status::ready) std::this_thread::yield();
    EXPECT_EQ(plain, 42);
    writer.join();
  }
}

// p9, and progress: a thread that only polls, and never waits, sees the end of an async too
TEST_F(FuturesState, polling_sees_an_async_become_ready) {
  for (const auto policy : {subject::launch::async, new_thread}) {
    int plain = 0;
    const future<void> result = subject::async(policy, [&] { plain = 42; });
    while (result.wait_for(0s) != future_status::ready) std::this_thread::yield();
    EXPECT_EQ(plain, 42);
  }
}

// ---- p10: results that are made ready at the thread's exit ----

struct EndsWithThread {
  int* ended = nullptr;
  ~EndsWithThread() {
    if (ended == nullptr) return;
    std::this_thread::sleep_for(a_while);
    *ended = 1;
  }
};
thread_local EndsWithThread ends_with_thread;

TEST_F(FuturesState, a_thread_s_objects_are_destroyed_before_what_is_set_at_its_exit_is_ready) {
  int ended[4] = {};  // plain: the results synchronise
  promise<int> value, failed;
  promise<void> nothing;
  packaged_task<int(int)> task([](int x) { return x; });
  future<int> results[] = {value.get_future(), failed.get_future(), task.get_future()};
  future<void> last = nothing.get_future();
  std::thread threads[4];
  threads[0] = std::thread([&] {
    value.set_value_at_thread_exit(1);
    ends_with_thread.ended = &ended[0];
  });
  threads[1] = std::thread([&] {
    ends_with_thread.ended = &ended[1];
    failed.set_exception_at_thread_exit(std::make_exception_ptr(2));
  });
  threads[2] = std::thread([&] {
    task.make_ready_at_thread_exit(3);
    ends_with_thread.ended = &ended[2];
  });
  threads[3] = std::thread([&] {
    ends_with_thread.ended = &ended[3];
    nothing.set_value_at_thread_exit();
  });
  EXPECT_EQ(results[0].get(), 1);
  EXPECT_EQ(ended[0], 1);
  EXPECT_THROW(results[1].get(), int);
  EXPECT_EQ(ended[1], 1);
  EXPECT_EQ(results[2].get(), 3);
  EXPECT_EQ(ended[2], 1);
  last.get();
  EXPECT_EQ(ended[3], 1);
  for (std::thread& each : threads) each.join();
}

TEST_F(FuturesState, what_a_new_thread_of_async_sets_at_exit_is_ready_after_its_objects) {
  int ended = 0;
  promise<void> provider;
  const shared_future<void> at_exit = provider.get_future();
  const future<void> call = subject::async(new_thread, [&, at_exit] {
    ends_with_thread.ended = &ended;
    provider.set_value_at_thread_exit();
    EXPECT_EQ(at_exit.wait_for(0s), future_status::timeout);
  });
  at_exit.get();
  EXPECT_EQ(ended, 1);
}

// [futures.async]: a waiting function returns when the thread has completed, its exit included
TEST_F(FuturesState, when_a_new_thread_has_ended_what_it_set_at_its_exit_is_ready) {
  std::vector<promise<int>> providers(1000);
  const future<int> first = providers[0].get_future();
  const future<void> call = subject::async(new_thread, [&] {
    for (promise<int>& each : providers) each.set_value_at_thread_exit(1);
  });
  call.wait();
  EXPECT_EQ(first.wait_for(0s), future_status::ready);
}

TEST_F(FuturesState, what_a_task_of_async_sets_at_exit_is_ready_after_its_thread_s_objects) {
  static int ended;  // tmk's threads last longer than this test
  ended = 0;
  promise<void> provider;
  const shared_future<void> at_exit = provider.get_future();
  const future<void> call = subject::async(subject::launch::async, [&, at_exit] {
    ends_with_thread.ended = &ended;
    provider.set_value_at_thread_exit();
    EXPECT_EQ(at_exit.wait_for(0s), future_status::timeout);
  });
  call.wait();
  at_exit.get();
  EXPECT_EQ(std::exchange(ended, 0), 1);
}

TEST_F(FuturesState, many_results_can_be_set_at_one_thread_s_exit) {
  std::vector<promise<std::size_t>> providers(100);
  std::vector<shared_future<std::size_t>> results;
  for (auto& each : providers) results.push_back(each.get_future());
  std::thread setter([&providers, results] {
    for (std::size_t i = 0; i < 100; ++i) providers[i].set_value_at_thread_exit(i);
    providers.clear();  // a result that is set is not abandoned
    for (const auto& each : results) EXPECT_EQ(each.wait_for(0s), future_status::timeout);
  });
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(results[i].get(), i);
  setter.join();
}

}  // namespace
}  // namespace conformance
