// [futures.shared.future]: shared_future<R>, shared_future<R&>, shared_future<void>.
#include <type_traits>
#include <utility>
#include <vector>

#include "subject.hpp"

namespace conformance {
namespace {

using FuturesSharedFuture = Clause;
using subject::future;
using subject::future_errc;
using subject::future_status;
using subject::promise;
using subject::shared_future;

template <class R, class Result>
void check_members() {
  using F = shared_future<R>;
  EXPECT_TRUE(std::is_nothrow_default_constructible_v<F>);
  EXPECT_TRUE(std::is_nothrow_move_constructible_v<F>);
  EXPECT_TRUE(std::is_nothrow_move_assignable_v<F>);
  EXPECT_TRUE((std::is_nothrow_constructible_v<F, future<R>>));
  EXPECT_TRUE((std::is_convertible_v<future<R>, F>));
  EXPECT_FALSE((std::is_constructible_v<F, future<R>&>));
  EXPECT_TRUE((std::is_same_v<decltype(std::declval<const F&>().get()), Result>));
  EXPECT_TRUE((std::is_same_v<decltype(std::declval<const F&>().valid()), bool>));
  EXPECT_TRUE(noexcept(std::declval<const F&>().valid()));
  EXPECT_TRUE((std::is_same_v<decltype(std::declval<const F&>().wait()), void>));
  EXPECT_TRUE((std::is_same_v<decltype(std::declval<const F&>().wait_for(1s)), future_status>));
  EXPECT_TRUE((std::is_same_v<decltype(std::declval<const F&>().wait_until(
                                  std::chrono::steady_clock::now())),
                              future_status>));
}
// synopsis
TEST_F(FuturesSharedFuture, its_members_are_those_of_the_synopsis) {
  check_members<int, const int&>();
  check_members<int&, int&>();
  check_members<const int&, const int&>();
  check_members<void, void>();
  check_members<MoveOnly, const MoveOnly&>();
}

// synopsis: noexcept. The specialisations of the libraries lack it (libstdc++ 12, libc++ 19).
template <class R>
constexpr bool copies_throw_nothing = std::is_nothrow_copy_constructible_v<shared_future<R>> &&
                                      std::is_nothrow_copy_assignable_v<shared_future<R>>;
TEST_F(FuturesSharedFuture, copying_one_throws_nothing) {
  EXPECT_TRUE(copies_throw_nothing<int>);
  EXPECT_TRUE(library != "tmk" || (copies_throw_nothing<int&> && copies_throw_nothing<void>));
}

// the constructors
TEST_F(FuturesSharedFuture, a_new_one_is_not_valid_nor_are_its_copies) {
  shared_future<int> none;
  EXPECT_FALSE(none.valid());
  const shared_future<int> copy(none);
  EXPECT_FALSE(copy.valid());
  const shared_future<int> moved(std::move(none));
  EXPECT_FALSE(moved.valid());
  EXPECT_FALSE(shared_future<int>(future<int>()).valid());
}
TEST_F(FuturesSharedFuture, a_copy_refers_to_the_same_state) {
  promise<int> provider;
  const shared_future<int> original = provider.get_future();
  const shared_future<int> copy(original);
  EXPECT_TRUE(original.valid());
  EXPECT_TRUE(copy.valid());
  provider.set_value(1);
  EXPECT_EQ(&original.get(), &copy.get());
}
TEST_F(FuturesSharedFuture, moving_takes_the_state_from_futures_of_both_kinds) {
  promise<int> provider;
  future<int> unique = provider.get_future();
  shared_future<int> first(std::move(unique));
  EXPECT_FALSE(unique.valid());
  EXPECT_TRUE(first.valid());
  const shared_future<int> second(std::move(first));
  EXPECT_FALSE(first.valid());
  provider.set_value(1);
  EXPECT_EQ(second.get(), 1);
}

// assignment
TEST_F(FuturesSharedFuture, assignment_releases_the_old_state) {
  const auto numbers = Counted::count();
  const auto holding = [&] {
    promise<Counted> old;
    old.set_value(Counted(numbers));
    return shared_future<Counted>(old.get_future());
  };
  promise<Counted> provider;
  const shared_future<Counted> source = provider.get_future();
  shared_future<Counted> target = holding();
  EXPECT_EQ(numbers->alive, 1);
  EXPECT_EQ(&(target = source), &target);
  EXPECT_EQ(numbers->alive, 0);
  EXPECT_TRUE(source.valid());
  EXPECT_TRUE(target.valid());

  target = holding();
  EXPECT_EQ(numbers->alive, 1);
  shared_future<Counted> moved = source;
  EXPECT_EQ(&(target = std::move(moved)), &target);
  EXPECT_EQ(numbers->alive, 0);
  EXPECT_FALSE(moved.valid());
  EXPECT_TRUE(target.valid());
  target = shared_future<Counted>();
  EXPECT_FALSE(target.valid());
}
TEST_F(FuturesSharedFuture, assignment_from_itself_changes_nothing) {
  promise<int> provider;
  shared_future<int> result = provider.get_future();
  provider.set_value(3);
  const shared_future<int>& same = result;
  result = same;
  EXPECT_TRUE(result.valid());
  EXPECT_EQ(result.get(), 3);
}

// get
TEST_F(FuturesSharedFuture, get_is_a_constant_reference_into_the_state_any_number_of_times) {
  const auto numbers = Counted::count();
  const Counted* address = nullptr;
  {
    shared_future<Counted> last;
    {
      promise<Counted> provider;
      provider.set_value(Counted(numbers));
      const shared_future<Counted> first = provider.get_future();
      last = first;
      address = &first.get();
    }
    EXPECT_EQ(&last.get(), address);
    EXPECT_EQ(&last.get(), address);
    EXPECT_TRUE(last.valid());
    EXPECT_EQ(numbers->copies, 0);
    EXPECT_EQ(numbers->alive, 1);
  }
  EXPECT_EQ(numbers->alive, 0);
}
TEST_F(FuturesSharedFuture, get_of_a_reference_is_what_was_set) {
  int target = 0;
  promise<int&> provider;
  provider.set_value(target);
  const shared_future<int&> result = provider.get_future();
  EXPECT_EQ(&result.get(), &target);
  result.get() = 5;
  EXPECT_EQ(target, 5);
}
TEST_F(FuturesSharedFuture, get_throws_the_exception_each_time) {
  promise<void> provider;
  provider.set_exception(std::make_exception_ptr(std::string("this")));
  const shared_future<void> first = provider.get_future();
  const shared_future<void> second = first;
  EXPECT_THROW(first.get(), std::string);
  EXPECT_THROW(first.get(), std::string);
  EXPECT_THROW(second.get(), std::string);
  EXPECT_TRUE(first.valid());
}
TEST_F(FuturesSharedFuture, many_threads_read_one_result_each_by_its_own_copy) {
  for (const auto policy : {subject::launch::async, subject::launch::deferred, new_thread}) {
    std::atomic<int> calls{0};
    shared_future<std::vector<int>> result =
        subject::async(policy, [&] { return std::vector<int>(1000, ++calls); });
    std::vector<std::thread> readers;
    for (int i = 0; i < 8; ++i) {
      readers.emplace_back([mine = result] {
        int sum = 0;
        for (const int each : mine.get()) sum += each;
        EXPECT_EQ(sum, 1000);
      });
    }
    result = {};
    for (std::thread& each : readers) each.join();
    EXPECT_EQ(calls, 1);
  }
}

// wait, and [futures.async]: the first thread that waits for a deferred function runs it
TEST_F(FuturesSharedFuture, a_deferred_function_that_runs_is_not_deferred_and_is_waited_for) {
  std::latch started(1), gate(1);
  bool ended = false;
  const shared_future<void> result = subject::async(subject::launch::deferred, [&] {
    started.count_down();
    gate.wait();
    ended = true;
  });
  EXPECT_EQ(result.wait_for(0s), future_status::deferred);
  std::thread runner([mine = result] { mine.wait(); });
  started.wait();
  EXPECT_EQ(result.wait_for(1ms), future_status::timeout);
  std::thread opener([&] {
    std::this_thread::sleep_for(a_while);
    gate.count_down();
  });
  const shared_future<void> other = result;
  other.get();
  EXPECT_TRUE(ended);
  runner.join();
  opener.join();
  EXPECT_EQ(result.wait_for(0s), future_status::ready);
}

// wait_for and wait_until
TEST_F(FuturesSharedFuture, timed_waits_say_how_it_stands) {
  promise<int> provider;
  const shared_future<int> result = provider.get_future();
  EXPECT_EQ(result.wait_for(0s), future_status::timeout);
  EXPECT_EQ(result.wait_for(1ms), future_status::timeout);
  EXPECT_EQ(result.wait_until(std::chrono::steady_clock::now() + 1ms), future_status::timeout);
  EXPECT_EQ(result.wait_until(std::chrono::system_clock::now() - 1h), future_status::timeout);
  provider.set_value(1);
  EXPECT_EQ(result.wait_for(0s), future_status::ready);
  EXPECT_EQ(result.wait_until(std::chrono::steady_clock::now() + 1h), future_status::ready);
}

// p3, the second note: implementations are encouraged to detect it
TEST_F(FuturesSharedFuture, an_invalid_shared_future_says_no_state) {
  const shared_future<int> none;
  EXPECT_EQ(code_of([&] { return none.get(); }), future_errc::no_state);
  EXPECT_EQ(code_of([&] { return none.wait(), 0; }), future_errc::no_state);
  EXPECT_EQ(code_of([&] { return none.wait_for(1s); }), future_errc::no_state);
  EXPECT_EQ(code_of([&] { return none.wait_until(std::chrono::steady_clock::now()); }),
            future_errc::no_state);
}

}  // namespace
}  // namespace conformance
