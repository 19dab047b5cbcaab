// [futures.task]: packaged_task.
#include <functional>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "subject.hpp"

namespace conformance {
namespace {

using FuturesTask = Clause;
using subject::future;
using subject::future_errc;
using subject::future_status;
using subject::packaged_task;

// synopsis
TEST_F(FuturesTask, its_members_are_those_of_the_synopsis) {
  using T = packaged_task<int(char)>;
  EXPECT_TRUE(std::is_nothrow_default_constructible_v<T>);
  EXPECT_TRUE(std::is_nothrow_move_constructible_v<T>);
  EXPECT_TRUE(std::is_nothrow_move_assignable_v<T>);
  EXPECT_FALSE(std::is_copy_constructible_v<T>);
  EXPECT_FALSE(std::is_copy_assignable_v<T>);
  EXPECT_TRUE(noexcept(std::declval<T&>().swap(std::declval<T&>())));
  EXPECT_TRUE(noexcept(swap(std::declval<T&>(), std::declval<T&>())));
  EXPECT_TRUE(noexcept(std::declval<const T&>().valid()));
  EXPECT_TRUE((std::is_same_v<decltype(std::declval<T&>().get_future()), future<int>>));
  EXPECT_TRUE((std::is_same_v<decltype(std::declval<T&>()('a')), void>));
  EXPECT_TRUE((std::is_same_v<decltype(std::declval<T&>().make_ready_at_thread_exit('a')), void>));
}

int negative(int x) { return -x; }

// the constructor from a callable, Constraints
TEST_F(FuturesTask, the_constructor_is_explicit_and_not_for_tasks_themselves) {
  using T = packaged_task<int(int)>;
  EXPECT_TRUE((std::is_constructible_v<T, int (*)(int)>));
  EXPECT_TRUE((std::is_constructible_v<T, int (&)(int)>));
  EXPECT_FALSE((std::is_convertible_v<int (*)(int), T>));
  EXPECT_FALSE((std::is_constructible_v<T, T&>));
  EXPECT_FALSE((std::is_constructible_v<T, const T&>));
  EXPECT_FALSE((std::is_constructible_v<T, const T>));
}

// the deduction guides
struct Plain {
  int operator()(char) { return 0; }
};
struct Constant {
  double operator()(int, long) const { return 0; }
};
struct Lvalue {
  void operator()(int&) & {}
};
struct ConstantLvalue {
  int& operator()(int& x) const& { return x; }
};
struct NeverThrows {
  int operator()() noexcept { return 0; }
};
struct ConstantNeverThrows {
  int operator()() const noexcept { return 0; }
};
struct LvalueNeverThrows {
  int operator()() & noexcept { return 0; }
};
struct ConstantLvalueNeverThrows {
  int operator()() const& noexcept { return 0; }
};
template <class Expected, class F>
void deduces(F&& callable) {
  EXPECT_TRUE((
      std::is_same_v<decltype(packaged_task(std::forward<F>(callable))), packaged_task<Expected>>));
}
TEST_F(FuturesTask, its_signature_is_deduced_from_the_callable) {
  deduces<int(int)>(negative);
  deduces<int(int)>(&negative);
  deduces<int(char)>(Plain());
  deduces<double(int, long)>(Constant());
  deduces<void(int&)>(Lvalue());
  deduces<int&(int&)>(ConstantLvalue());
  deduces<int()>(NeverThrows());
  deduces<int()>(ConstantNeverThrows());
  deduces<int()>(LvalueNeverThrows());
  deduces<int()>(ConstantLvalueNeverThrows());
  deduces<bool(const int&)>([](const int& x) { return x == 0; });
  deduces<void()>([owner = std::make_unique<int>(1)]() mutable { owner.reset(); });
  deduces<int(int)>(packaged_task<int(int)>());  // itself
  packaged_task task([](int x) { return x + 1; });
  task(1);
  EXPECT_EQ(task.get_future().get(), 2);
}

// the default constructor, and the errors of all members if there is no state
TEST_F(FuturesTask, without_a_callable_it_has_no_state) {
  packaged_task<int()> none;
  EXPECT_FALSE(none.valid());
  EXPECT_EQ(code_of([&] { return none.get_future(), 0; }), future_errc::no_state);
  EXPECT_EQ(code_of([&] { return none(), 0; }), future_errc::no_state);
  EXPECT_EQ(code_of([&] { return none.make_ready_at_thread_exit(), 0; }), future_errc::no_state);
  EXPECT_EQ(code_of([&] { return none.reset(), 0; }), future_errc::no_state);
}

// the constructor from a callable
struct Function {
  int offset = 10;
  int add(int x) const { return offset + x; }
};
TEST_F(FuturesTask, whatever_invoke_takes_can_be_its_callable) {
  const auto result_of = [](auto task, auto&&... arguments) {
    EXPECT_TRUE(task.valid());
    auto result = task.get_future();
    EXPECT_EQ(result.wait_for(0s), future_status::timeout);
    task(std::forward<decltype(arguments)>(arguments)...);
    EXPECT_EQ(result.wait_for(0s), future_status::ready);
    return result.get();
  };
  const Function function;
  EXPECT_EQ(result_of(packaged_task<int(int)>(negative), 1), -1);
  EXPECT_EQ(result_of(packaged_task<int(int)>(&negative), 2), -2);
  EXPECT_EQ(result_of(packaged_task<int(const Function&, int)>(&Function::add), function, 1), 11);
  EXPECT_EQ(result_of(packaged_task<int(const Function*)>(&Function::offset), &function), 10);
  EXPECT_EQ(result_of(packaged_task<long(char)>([](int x) { return x; }), 'a'), 'a');
  EXPECT_EQ(result_of(packaged_task<int()>(std::bind(negative, 3))), -3);
  const std::function<int()> copied = [] { return 4; };
  EXPECT_EQ(result_of(packaged_task<int()>(copied)), 4);
}
TEST_F(FuturesTask, the_callable_is_copied_or_moved_as_it_was_given) {
  const auto numbers = Counted::count();
  {
    const auto callable = [held = Counted(numbers)] { return 1; };
    const int copies_before = numbers->copies;
    const packaged_task<int()> copied(callable);
    EXPECT_EQ(numbers->copies, copies_before + 1);
    auto again = callable;
    const packaged_task<int()> moved(std::move(again));
    EXPECT_EQ(numbers->copies, copies_before + 2);
  }
  EXPECT_EQ(numbers->alive, 0);
  packaged_task<int()> owner([held = std::make_unique<int>(5)] { return *held; });
  owner();
  EXPECT_EQ(owner.get_future().get(), 5);
}
// Throws
TEST_F(FuturesTask, what_copying_the_callable_throws_comes_out) {
  struct Callable : ThrowsOnCopy {
    void operator()() const {}
  };
  const Callable bad;
  EXPECT_THROW(packaged_task<void()>{bad}, int);
}

// the move constructor, move assignment, swap
TEST_F(FuturesTask, moving_takes_the_state_and_the_callable) {
  packaged_task<int(int)> from(negative);
  future<int> result = from.get_future();
  packaged_task<int(int)> to(std::move(from));
  EXPECT_FALSE(from.valid());
  EXPECT_TRUE(to.valid());
  EXPECT_EQ(code_of([&] { return from(1), 0; }), future_errc::no_state);
  EXPECT_EQ(code_of([&] { return to.get_future(), 0; }), future_errc::future_already_retrieved);
  to(1);
  EXPECT_EQ(result.get(), -1);
}
TEST_F(FuturesTask, move_assignment_lets_the_old_state_go) {
  packaged_task<int(int)> from(negative), to([](int x) { return x; });
  future<int> old = to.get_future(), result = from.get_future();
  EXPECT_EQ(&(to = std::move(from)), &to);
  EXPECT_EQ(code_of([&] { return old.get(); }), future_errc::broken_promise);
  EXPECT_FALSE(from.valid());
  to(2);
  EXPECT_EQ(result.get(), -2);
  to = packaged_task<int(int)>();
  EXPECT_FALSE(to.valid());
}
TEST_F(FuturesTask, swap_exchanges_states_and_callables) {
  packaged_task<int(int)> a(negative), b([](int x) { return 10 * x; }), none;
  future<int> of_a = a.get_future(), of_b = b.get_future();
  a.swap(b);
  a(1);
  EXPECT_EQ(of_b.get(), 10);
  swap(a, b);
  subject::swap(a, none);
  EXPECT_FALSE(a.valid());
  none(1);
  EXPECT_EQ(of_a.get(), -1);
}

// the destructor
TEST_F(FuturesTask, a_destroyed_task_abandons_its_state) {
  future<int> result = packaged_task<int()>([] { return 1; }).get_future();
  EXPECT_EQ(code_of([&] { return result.get(); }), future_errc::broken_promise);
}

// get_future
TEST_F(FuturesTask, the_future_is_given_out_once) {
  packaged_task<void()> task([] {});
  EXPECT_TRUE(task.get_future().valid());
  EXPECT_EQ(code_of([&] { return task.get_future(), 0; }), future_errc::future_already_retrieved);
}
TEST_F(FuturesTask, the_future_can_be_asked_for_after_the_call) {
  packaged_task<int(int)> task(negative);
  task(1);
  EXPECT_EQ(task.get_future().get(), -1);
}

// operator()
TEST_F(FuturesTask, a_call_stores_the_value_the_reference_or_nothing) {
  int target = 0;
  packaged_task<int&(int&)> refers([](int& x) -> int& { return x; });
  refers(target);
  EXPECT_EQ(&refers.get_future().get(), &target);
  packaged_task<void(int&)> nothing([](int& x) { return ++x; });  // its value is dropped
  nothing(target);
  nothing.get_future().get();
  EXPECT_EQ(target, 1);
  packaged_task<MoveOnly(MoveOnly)> moves([](MoveOnly x) { return x; });
  moves(MoveOnly(4));
  EXPECT_EQ(moves.get_future().get().value, 4);
  packaged_task<int(std::unique_ptr<int>&&)> takes([](std::unique_ptr<int>&& x) { return *x; });
  takes(std::make_unique<int>(5));
  EXPECT_EQ(takes.get_future().get(), 5);
}
TEST_F(FuturesTask, the_callable_is_called_as_an_lvalue) {
  struct Both {
    int operator()() & { return 1; }
    int operator()() && { return 2; }
  };
  packaged_task<int()> task{Both()};
  task();
  EXPECT_EQ(task.get_future().get(), 1);
}
TEST_F(FuturesTask, a_call_stores_what_the_callable_throws) {
  packaged_task<int(bool)> task([](bool) -> int { throw std::domain_error("this"); });
  future<int> result = task.get_future();
  EXPECT_NO_THROW(task(true));
  EXPECT_THROW(result.get(), std::domain_error);
}
TEST_F(FuturesTask, a_task_is_called_once) {
  int calls = 0;
  packaged_task<int()> task([&] { return ++calls; });
  task();
  EXPECT_EQ(code_of([&] { return task(), 0; }), future_errc::promise_already_satisfied);
  EXPECT_EQ(code_of([&] { return task.make_ready_at_thread_exit(), 0; }),
            future_errc::promise_already_satisfied);
  EXPECT_EQ(task.get_future().get(), 1);
  EXPECT_EQ(calls, 1);
  packaged_task<int()> failing([]() -> int { throw 1; });
  failing();
  EXPECT_EQ(code_of([&] { return failing(), 0; }), future_errc::promise_already_satisfied);
}
TEST_F(FuturesTask, a_call_on_another_thread_wakes_who_waits) {
  packaged_task<int(int)> task(negative);
  future<int> result = task.get_future();
  std::thread runner([mine = std::move(task)]() mutable {
    std::this_thread::sleep_for(5ms);
    mine(6);
  });
  EXPECT_EQ(result.get(), -6);
  runner.join();
}

// make_ready_at_thread_exit
TEST_F(FuturesTask, made_ready_at_thread_exit_it_is_called_at_once_and_not_ready_before) {
  int calls = 0;
  packaged_task<int(int)> task([&](int x) { return calls += x; });
  packaged_task<void()> failing([] { throw std::domain_error("this"); });
  future<int> result = task.get_future();
  future<void> failed = failing.get_future();
  std::thread([&] {
    task.make_ready_at_thread_exit(1);
    failing.make_ready_at_thread_exit();
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(result.wait_for(1ms), future_status::timeout);
    EXPECT_EQ(failed.wait_for(0s), future_status::timeout);
    EXPECT_EQ(code_of([&] { return task(1), 0; }), future_errc::promise_already_satisfied);
    EXPECT_EQ(code_of([&] { return task.make_ready_at_thread_exit(1), 0; }),
              future_errc::promise_already_satisfied);
  }).join();
  EXPECT_EQ(result.get(), 1);
  EXPECT_THROW(failed.get(), std::domain_error);
}

// reset
TEST_F(FuturesTask, reset_gives_a_new_state_for_the_same_callable) {
  packaged_task<int()> task([calls = 0]() mutable { return ++calls; });
  future<int> first = task.get_future();
  task();
  task.reset();
  EXPECT_TRUE(task.valid());
  future<int> second = task.get_future();
  EXPECT_EQ(second.wait_for(0s), future_status::timeout);
  task();
  EXPECT_EQ(first.get(), 1);
  EXPECT_EQ(second.get(), 2);
  packaged_task<int()> unused([held = std::make_unique<int>(3)] { return *held; });
  future<int> old = unused.get_future();
  unused.reset();
  EXPECT_EQ(code_of([&] { return old.get(); }), future_errc::broken_promise);
  unused();
  EXPECT_EQ(unused.get_future().get(), 3);
}

}  // namespace
}  // namespace conformance
