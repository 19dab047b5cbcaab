// [futures.async]: the function template async. The standard's rules of launch::async are tested
// with `new_thread`; the tests that say "task" show where tmk's launch::async deviates.
#include <pthread.h>

#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "subject.hpp"

namespace conformance {
namespace {

using FuturesAsync = Clause;
using subject::async;
using subject::future;
using subject::future_status;
using subject::launch;
using subject::shared_future;

constexpr std::array policies{launch::async, launch::deferred, launch::async | launch::deferred,
                              new_thread};

// Calls test(start) for the overload without a policy and, with each policy, for the other one.
template <class Test>
void for_each_way(const Test& test) {
  test([](auto&&... parts) { return async(std::forward<decltype(parts)>(parts)...); });
  for (const launch policy : policies) {
    SCOPED_TRACE(static_cast<unsigned>(policy));
    test([&](auto&&... parts) { return async(policy, std::forward<decltype(parts)>(parts)...); });
  }
}

int twice(int x) { return 2 * x; }

// ---- Returns ----

TEST_F(FuturesAsync, it_returns_a_future_of_what_the_decayed_call_returns) {
  const auto nothing = [] {};
  const auto refer = [](int* x) -> int& { return *x; };
  EXPECT_TRUE((std::is_same_v<decltype(async(twice, 1)), future<int>>));
  EXPECT_TRUE((std::is_same_v<decltype(async(launch::deferred, twice, 1)), future<int>>));
  EXPECT_TRUE((std::is_same_v<decltype(async(nothing)), future<void>>));
  EXPECT_TRUE((std::is_same_v<decltype(async(refer, nullptr)), future<int&>>));
  struct Overloaded {
    char operator()(int&&) { return 'r'; }
    long operator()(int&) { return 0; }
  };
  const int lvalue = 0;
  EXPECT_TRUE((std::is_same_v<decltype(async(Overloaded(), lvalue)), future<char>>));
}
TEST_F(FuturesAsync, the_future_holds_what_the_call_returns) {
  for_each_way([](const auto& start) {
    int target = 0;
    auto value = start(twice, 4);
    auto reference = start([&]() -> int& { return target; });
    auto nothing = start([&] { target = 1; });
    auto moves = start([] { return MoveOnly(5); });
    auto owner = start([] { return std::make_unique<int>(6); });
    EXPECT_TRUE(value.valid());
    EXPECT_EQ(value.get(), 8);
    EXPECT_EQ(&reference.get(), &target);
    nothing.get();
    EXPECT_EQ(target, 1);
    EXPECT_EQ(moves.get().value, 5);
    EXPECT_EQ(*owner.get(), 6);
  });
}

// ---- Effects: the call ----

struct Object {
  int factor = 3;
  int times(int x) const { return factor * x; }
};
TEST_F(FuturesAsync, whatever_invoke_takes_can_be_called) {
  for_each_way([](const auto& start) {
    const Object object;
    EXPECT_EQ(start(&twice, 1).get(), 2);
    EXPECT_EQ(start(&Object::times, object, 2).get(), 6);
    EXPECT_EQ(start(&Object::times, &object, 3).get(), 9);
    EXPECT_EQ(start(&Object::times, std::ref(object), 4).get(), 12);
    EXPECT_EQ(start(&Object::factor, &object).get(), 3);
    EXPECT_EQ(start(std::bind(twice, 5)).get(), 10);
    const std::function<int()> function = [] { return 7; };
    EXPECT_EQ(start(function).get(), 7);
  });
}
TEST_F(FuturesAsync, callable_and_arguments_are_called_as_rvalues) {
  struct Callable {
    int operator()(std::unique_ptr<int>&& x) && { return *x; }
    int operator()(std::unique_ptr<int>& /*x*/) & { return -1; }
  };
  for_each_way([](const auto& start) {
    EXPECT_EQ(start(Callable(), std::make_unique<int>(7)).get(), 7);
    EXPECT_EQ(start([owner = std::make_unique<int>(8)] { return *owner; }).get(), 8);
  });
}
TEST_F(FuturesAsync, arguments_are_decayed_and_a_reference_wrapper_refers) {
  for_each_way([](const auto& start) {
    int original = 1, target = 1;
    const char text[] = "text";
    start(
        [](int&& copy, int& reference, const char*&& pointer) {
          ++copy;
          ++reference;
          EXPECT_EQ(*pointer, 't');
        },
        original, std::ref(target), text)
        .get();
    EXPECT_EQ(original, 1);
    EXPECT_EQ(target, 2);
  });
}
// "with the calls to decay-copy being evaluated in the thread that called async"
struct NotesItsCopy {
  std::thread::id copied;
  NotesItsCopy() = default;
  NotesItsCopy(const NotesItsCopy& /*other*/) : copied(std::this_thread::get_id()) {}
  NotesItsCopy(NotesItsCopy&& other) noexcept : copied(other.copied) {}
  std::thread::id operator()(const NotesItsCopy& argument) const {
    EXPECT_EQ(argument.copied, copied);
    return copied;
  }
};
TEST_F(FuturesAsync, copies_are_made_in_the_calling_thread_before_it_returns) {
  for_each_way([](const auto& start) {
    const NotesItsCopy callable;
    EXPECT_EQ(start(callable, callable).get(), std::this_thread::get_id());
    int value = 1;
    future<int> result = start([](int x) { return x; }, value);
    value = 2;
    EXPECT_EQ(result.get(), 1);
  });
}
TEST_F(FuturesAsync, an_lvalue_is_copied_once_and_an_rvalue_not) {
  for_each_way([](const auto& start) {
    const auto numbers = Counted::count();
    {
      Counted given(numbers);
      start([](const Counted&) {}, given).get();
      EXPECT_EQ(numbers->copies, 1);
      start([](const Counted&) {}, std::move(given)).get();
      EXPECT_EQ(numbers->copies, 1);
    }
    EXPECT_EQ(numbers->alive, 0);
  });
}
TEST_F(FuturesAsync, what_copying_throws_comes_out_of_async) {
  for_each_way([](const auto& start) {
    const ThrowsOnCopy bad;
    bool called = false;
    EXPECT_THROW(static_cast<void>(start([&](const ThrowsOnCopy&) { called = true; }, bad)), int);
    EXPECT_FALSE(called);
    const auto numbers = Counted::count();
    const Counted other(numbers);
    EXPECT_THROW(static_cast<void>(start([](const Counted&, const ThrowsOnCopy&) {}, other, bad)),
                 int);
    EXPECT_EQ(numbers->alive, 1);
  });
}
TEST_F(FuturesAsync, what_the_call_throws_comes_out_of_get) {
  for_each_way([](const auto& start) {
    future<int> value = start([]() -> int { throw std::domain_error("this"); });
    future<void> nothing = start([] { throw 1; });
    EXPECT_NO_THROW(value.wait());
    EXPECT_THROW(value.get(), std::domain_error);
    EXPECT_FALSE(value.valid());
    EXPECT_THROW(nothing.get(), int);
  });
}
TEST_F(FuturesAsync, what_moving_the_result_throws_comes_out_of_get) {
  for_each_way([](const auto& start) {
    const shared_future<ThrowsOnMove> result = start([] {
      ThrowsOnMove local;
      return ThrowsOnMove(std::move(local));
    });
    EXPECT_THROW(result.get(), int);
  });
}
TEST_F(FuturesAsync, callable_arguments_and_result_are_destroyed) {
  for_each_way([](const auto& start) {
    const auto numbers = Counted::count();
    start([held = Counted(numbers)](Counted x) { return x; }, Counted(numbers)).get();
    EXPECT_EQ(numbers->alive, 0);
    static_cast<void>(start([held = Counted(numbers)](const Counted&) {}, Counted(numbers)));
    EXPECT_EQ(numbers->alive, 0);
  });
}
TEST_F(FuturesAsync, a_call_may_start_and_await_calls) {
  for_each_way([](const auto& start) {
    auto outer = start([&] {
      auto inner = start([&] { return start(twice, 1).get() + 1; });
      return inner.get() + 1;
    });
    EXPECT_EQ(outer.get(), 4);
  });
}

// ---- Effects: launch::async ----

TEST_F(FuturesAsync, a_call_runs_whether_anyone_waits_or_not) {
  for (const launch policy : {launch::async, new_thread}) {
    std::latch ran(1);
    const future<void> result = async(policy, [&] { ran.count_down(); });
    ran.wait();
  }
}
TEST_F(FuturesAsync, calls_that_wait_for_each_other_run_at_the_same_time) {
  for (const launch policy : {launch::async, new_thread}) {
    std::latch all(20);
    std::vector<future<void>> calls;
    for (int i = 0; i < 20; ++i) calls.push_back(async(policy, [&] { all.arrive_and_wait(); }));
    for (future<void>& each : calls) each.get();
  }
}
TEST_F(FuturesAsync, a_call_runs_on_a_thread_of_its_own) {
  const auto caller = std::this_thread::get_id();
  EXPECT_NE(async(new_thread, [] { return std::this_thread::get_id(); }).get(), caller);
}
TEST_F(FuturesAsync, a_task_runs_on_a_thread_of_its_own) {
  const auto caller = std::this_thread::get_id();
  for (int i = 0; i < 100; ++i) {
    EXPECT_NE(async(launch::async, [] { return std::this_thread::get_id(); }).get(), caller);
  }
}
thread_local int calls_of_this_thread = 0;
TEST_F(FuturesAsync, a_call_has_thread_local_objects_of_its_own) {
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(async(new_thread, [] { return ++calls_of_this_thread; }).get(), 1);
  }
}
TEST_F(FuturesAsync, a_task_has_thread_local_objects_of_its_own) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(async(launch::async, [] { return ++calls_of_this_thread; }).get(), 1);
  }
}

// ---- Effects: launch::deferred ----

TEST_F(FuturesAsync, a_deferred_call_runs_in_the_thread_that_waits_first) {
  std::thread::id ran;
  const auto deferred = [&] {
    return async(launch::deferred, [&] { ran = std::this_thread::get_id(); });
  };
  future<void> waited = deferred(), got = deferred();
  const shared_future<void> shared = deferred();
  EXPECT_EQ(ran, std::thread::id());
  waited.wait();
  EXPECT_EQ(ran, std::this_thread::get_id());
  const auto check_elsewhere = [&](const auto& wait) {
    std::thread([&] {
      wait();
      EXPECT_EQ(ran, std::this_thread::get_id());
    }).join();
    EXPECT_NE(ran, std::this_thread::get_id());
  };
  check_elsewhere([&] { got.get(); });
  check_elsewhere([&] { shared.get(); });
  shared.wait();
  EXPECT_NE(ran, std::this_thread::get_id());
}
TEST_F(FuturesAsync, a_deferred_call_that_nobody_waits_for_never_runs) {
  bool called = false;
  const auto numbers = Counted::count();
  {
    const future<void> result =
        async(launch::deferred, [&, held = Counted(numbers)] { called = true; });
    EXPECT_EQ(result.wait_for(0s), future_status::deferred);
    EXPECT_EQ(numbers->alive, 1);
  }
  EXPECT_FALSE(called);
  EXPECT_EQ(numbers->alive, 0);
}
TEST_F(FuturesAsync, a_deferred_call_that_threw_is_ready_and_runs_no_more) {
  int calls = 0;
  const shared_future<void> result = async(launch::deferred, [&] {
    ++calls;
    throw 1;
  });
  result.wait();
  EXPECT_EQ(result.wait_for(0s), future_status::ready);
  EXPECT_THROW(result.get(), int);
  EXPECT_THROW(result.get(), int);
  EXPECT_EQ(calls, 1);
}

// ---- Synchronization ----

TEST_F(FuturesAsync, what_is_written_before_async_is_seen_by_the_call_and_back) {
  for_each_way([](const auto& start) {
    int before = 0, during = 0;  // plain
    before = 1;
    future<void> result = start([&] { during = before + 1; });
    std::thread([&, moved = std::move(result)] {
      moved.wait();
      EXPECT_EQ(during, 2);
    }).join();
  });
}

// Ends with its thread, as late as it can without help: when a thread has looked, or after a time.
struct Late {
  struct Watch {
    std::latch looked{1};
    int ended = 0;  // plain: the thread's end synchronises with the waiting thread
    std::atomic<bool> gone{false};
  };
  std::shared_ptr<Watch> watch;
  ~Late() {
    if (watch == nullptr) return;
    for (int i = 0; i < 100 && !watch->looked.try_wait(); ++i) std::this_thread::sleep_for(1ms);
    watch->ended = 1;
    watch->gone = true;
  }
};
thread_local Late late;

// "a call to a waiting function ... shall block until the associated thread has completed"
template <class Wait>
void expect_the_end_of_the_thread(launch policy, const Wait& wait) {
  const auto watch = std::make_shared<Late::Watch>();
  {
    auto result = async(policy, [watch] { late.watch = watch; });
    wait(result);
    const bool gone = watch->gone;
    EXPECT_TRUE(gone);
    if (gone) {
      EXPECT_EQ(watch->ended, 1);
    }
    watch->looked.count_down();
  }
}
TEST_F(FuturesAsync, get_returns_after_the_end_of_the_thread) {
  expect_the_end_of_the_thread(new_thread, [](future<void>& result) { result.get(); });
}
TEST_F(FuturesAsync, wait_returns_after_the_end_of_the_thread) {
  expect_the_end_of_the_thread(new_thread, [](future<void>& result) { result.wait(); });
}
TEST_F(FuturesAsync, a_timed_wait_says_ready_after_the_end_of_the_thread) {
  expect_the_end_of_the_thread(new_thread, [](future<void>& result) {
    EXPECT_EQ(result.wait_for(1h), future_status::ready);
  });
}
TEST_F(FuturesAsync, shared_futures_too_wait_for_the_end_of_the_thread) {
  expect_the_end_of_the_thread(new_thread, [](future<void>& result) {
    const shared_future<void> first = result.share();
    const shared_future<void> second = first;
    second.get();
  });
}
TEST_F(FuturesAsync, the_last_release_returns_after_the_end_of_the_thread) {
  expect_the_end_of_the_thread(new_thread, [](future<void>& result) { result = future<void>(); });
}
TEST_F(FuturesAsync, get_of_a_task_returns_after_the_end_of_its_thread) {
  expect_the_end_of_the_thread(launch::async, [](future<void>& result) { result.get(); });
  late.watch = nullptr;  // it is this thread's if this thread ran the task
}

// ---- Throws ----

// Runs `test` in its own process, to which the system then gives no threads, because it has no
// stacks so large. The process ends with 0 if `test` returns in time.
template <class Test>
void without_threads(const Test& test) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstacksize(&attributes, std::size_t{1} << 47);
        pthread_setattr_default_np(&attributes);
        alarm(2);
        const int failed = test();
        std::_Exit(failed);
      },
      testing::ExitedWithCode(0), "");
}
TEST_F(FuturesAsync, a_thread_that_is_refused_is_a_system_error) {
  without_threads([] {
    try {
      static_cast<void>(async(new_thread, [] {}));
    } catch (const std::system_error& error) {
      return error.code() == std::errc::resource_unavailable_try_again ? 0 : 1;
    }
    return 2;
  });
}
TEST_F(FuturesAsync, a_task_for_which_there_is_no_thread_is_a_system_error) {
  without_threads([] {
    try {
      static_cast<void>(async(launch::async, [] {}));
    } catch (const std::system_error& error) {
      return error.code() == std::errc::resource_unavailable_try_again ? 0 : 1;
    }
    return 2;
  });
}
// launch::async | launch::deferred: not an error, because the call can be deferred
TEST_F(FuturesAsync, by_default_a_call_for_which_there_is_no_thread_runs_all_the_same) {
  without_threads([] {
    future<int> plain = async(twice, 1), chosen = async(launch::async | launch::deferred, twice, 2);
    return plain.get() == 2 && chosen.get() == 4 ? 0 : 1;
  });
}

}  // namespace
}  // namespace conformance
