// [futures.unique.future]: future<R>, future<R&>, future<void>.
#include <cmath>
#include <limits>
#include <ratio>
#include <type_traits>
#include <utility>
#include <vector>

#include "subject.hpp"

namespace conformance {
namespace {

using FuturesUniqueFuture = Clause;
using subject::future;
using subject::future_errc;
using subject::future_status;
using subject::promise;
using subject::shared_future;

template <class R, class Result>
void check_members() {
  using F = future<R>;
  EXPECT_TRUE(std::is_nothrow_default_constructible_v<F>);
  EXPECT_TRUE(std::is_nothrow_move_constructible_v<F>);
  EXPECT_TRUE(std::is_nothrow_move_assignable_v<F>);
  EXPECT_FALSE(std::is_copy_constructible_v<F>);
  EXPECT_FALSE(std::is_copy_assignable_v<F>);
  EXPECT_FALSE((std::is_constructible_v<F, shared_future<R>>));
  EXPECT_TRUE((std::is_same_v<decltype(std::declval<F&>().get()), Result>));
  EXPECT_TRUE((std::is_same_v<decltype(std::declval<const F&>().valid()), bool>));
  EXPECT_TRUE(noexcept(std::declval<const F&>().valid()));
  EXPECT_TRUE((std::is_same_v<decltype(std::declval<F&>().share()), shared_future<R>>));
  EXPECT_TRUE(noexcept(std::declval<F&>().share()));
  EXPECT_TRUE((std::is_same_v<decltype(std::declval<const F&>().wait()), void>));
  EXPECT_TRUE((std::is_same_v<decltype(std::declval<const F&>().wait_for(1s)), future_status>));
  EXPECT_TRUE((std::is_same_v<decltype(std::declval<const F&>().wait_until(
                                  std::chrono::steady_clock::now())),
                              future_status>));
}
// synopsis
TEST_F(FuturesUniqueFuture, its_members_are_those_of_the_synopsis) {
  check_members<int, int>();
  check_members<int&, int&>();
  check_members<void, void>();
  check_members<MoveOnly, MoveOnly>();
}

// the default constructor
TEST_F(FuturesUniqueFuture, a_new_one_is_not_valid) {
  EXPECT_FALSE(future<int>().valid());
  EXPECT_FALSE(future<int&>().valid());
  EXPECT_FALSE(future<void>().valid());
}

// the move constructor
TEST_F(FuturesUniqueFuture, moving_takes_the_state) {
  promise<int> provider;
  future<int> from = provider.get_future();
  EXPECT_TRUE(from.valid());
  future<int> to(std::move(from));
  EXPECT_FALSE(from.valid());
  EXPECT_TRUE(to.valid());
  provider.set_value(1);
  EXPECT_EQ(to.get(), 1);
  const future<int> none(std::move(from));
  EXPECT_FALSE(none.valid());
}

// move assignment
TEST_F(FuturesUniqueFuture, move_assignment_releases_the_old_state_and_takes_the_other) {
  const auto numbers = Counted::count();
  promise<Counted> provider;
  future<Counted> to = [&] {
    promise<Counted> old;
    old.set_value(Counted(numbers));
    return old.get_future();
  }();
  EXPECT_EQ(numbers->alive, 1);
  future<Counted> from = provider.get_future();
  EXPECT_EQ(&(to = std::move(from)), &to);
  EXPECT_EQ(numbers->alive, 0);
  EXPECT_FALSE(from.valid());
  EXPECT_TRUE(to.valid());
  to = std::move(from);
  EXPECT_FALSE(to.valid());
}

// share
TEST_F(FuturesUniqueFuture, share_hands_the_state_over) {
  promise<int> provider;
  future<int> unique = provider.get_future();
  const shared_future<int> shared = unique.share();
  EXPECT_FALSE(unique.valid());
  EXPECT_TRUE(shared.valid());
  EXPECT_FALSE(unique.share().valid());
  provider.set_value(2);
  EXPECT_EQ(shared.get(), 2);
}

// get
TEST_F(FuturesUniqueFuture, get_moves_the_value_out_and_ends_the_future) {
  const auto numbers = Counted::count();
  {
    promise<Counted> provider;
    future<Counted> result = provider.get_future();
    provider.set_value(Counted(numbers));
    const Counted value = result.get();
    EXPECT_EQ(numbers->copies, 0);
    EXPECT_FALSE(result.valid());
  }
  EXPECT_EQ(numbers->alive, 0);
  promise<MoveOnly> provider;
  provider.set_value(MoveOnly(3));
  EXPECT_EQ(provider.get_future().get().value, 3);
}
TEST_F(FuturesUniqueFuture, get_of_a_reference_is_what_was_set) {
  int target = 0;
  promise<int&> provider;
  future<int&> result = provider.get_future();
  provider.set_value(target);
  EXPECT_EQ(&result.get(), &target);
  EXPECT_FALSE(result.valid());
  const int constant = 0;
  promise<const int&> to_constant;
  to_constant.set_value(constant);
  EXPECT_EQ(&to_constant.get_future().get(), &constant);
}
TEST_F(FuturesUniqueFuture, get_of_nothing_returns_and_ends_the_future) {
  promise<void> provider;
  future<void> result = provider.get_future();
  provider.set_value();
  result.get();
  EXPECT_FALSE(result.valid());
}
TEST_F(FuturesUniqueFuture, get_throws_what_was_set_and_ends_the_future) {
  promise<int> provider;
  future<int> result = provider.get_future();
  provider.set_exception(std::make_exception_ptr(std::string("this")));
  try {
    result.get();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::string& error) {
    EXPECT_EQ(error, "this");
  }
  EXPECT_FALSE(result.valid());
}
struct alignas(256) Aligned {
  int value = 0;
};
struct Large {
  int values[10000] = {};
};
TEST_F(FuturesUniqueFuture, values_may_be_large_and_aligned_beyond_the_usual) {
  for (const auto policy : {subject::launch::async, subject::launch::deferred, new_thread}) {
    const auto misaligned = [](const Aligned& a) {
      return reinterpret_cast<std::uintptr_t>(&a) % alignof(Aligned);
    };
    const shared_future<Aligned> aligned =
        subject::async(policy, [a = Aligned{5}] { return a; }).share();
    EXPECT_EQ(aligned.get().value, 5);
    EXPECT_EQ(misaligned(aligned.get()), 0u);
    Large large;
    large.values[9999] = 6;
    EXPECT_EQ(subject::async(policy, [large] { return large; }).get().values[9999], 6);
  }
  promise<Aligned> provider;
  provider.set_value({7});
  EXPECT_EQ(provider.get_future().get().value, 7);
}
struct NoDefault {
  int value;
  explicit NoDefault(int v) : value(v) {}
};
TEST_F(FuturesUniqueFuture, a_value_needs_no_default_constructor) {
  promise<NoDefault> provider;
  provider.set_value(NoDefault(8));
  EXPECT_EQ(provider.get_future().get().value, 8);
}

// wait
TEST_F(FuturesUniqueFuture, wait_returns_when_it_is_ready_and_leaves_it_valid) {
  promise<int> provider;
  const future<int> result = provider.get_future();
  int plain = 0;
  std::thread setter([&] {
    std::this_thread::sleep_for(a_while);
    plain = 1;
    provider.set_value(1);
  });
  result.wait();
  EXPECT_EQ(plain, 1);
  EXPECT_TRUE(result.valid());
  result.wait();
  setter.join();
}
TEST_F(FuturesUniqueFuture, wait_throws_no_result_s_exception) {
  promise<void> provider;
  const future<void> result = provider.get_future();
  provider.set_exception(std::make_exception_ptr(1));
  EXPECT_NO_THROW(result.wait());
  EXPECT_EQ(result.wait_for(0s), future_status::ready);
  EXPECT_EQ(result.wait_until(std::chrono::system_clock::now()), future_status::ready);
  EXPECT_TRUE(result.valid());
}

// wait_for and wait_until
template <class WaitFor>
void check_times_out(const WaitFor& wait_for) {
  promise<int> provider;
  const future<int> result = provider.get_future();
  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(wait_for(result), future_status::timeout);
  EXPECT_GE(std::chrono::steady_clock::now() - before, 2ms);
  EXPECT_TRUE(result.valid());
  provider.set_value(1);
  EXPECT_EQ(wait_for(result), future_status::ready);
}
// Ticks in milliseconds since the steady clock's epoch; a Cpp17Clock of the program's own.
struct OwnClock {
  using rep = long;
  using period = std::milli;
  using duration = std::chrono::duration<rep, period>;
  using time_point = std::chrono::time_point<OwnClock>;
  static constexpr bool is_steady [[maybe_unused]] = true;
  static time_point now() {
    return time_point(
        std::chrono::duration_cast<duration>(std::chrono::steady_clock::now().time_since_epoch()));
  }
};
TEST_F(FuturesUniqueFuture, wait_for_times_out_not_too_soon) {
  check_times_out([](const auto& result) { return result.wait_for(2ms); });
  check_times_out([](const auto& result) { return result.wait_for(2000us); });
  using Fraction = std::chrono::duration<double>;
  check_times_out([](const auto& result) { return result.wait_for(Fraction(0.002)); });
}
TEST_F(FuturesUniqueFuture, wait_until_times_out_not_too_soon) {
  using std::chrono::steady_clock;
  check_times_out([](const auto& result) { return result.wait_until(steady_clock::now() + 2ms); });
  check_times_out([](const auto& result) { return result.wait_until(OwnClock::now() + 3ms); });
  // The system's clock may be set, so only that clock can show that the wait ended not too soon.
  promise<void> provider;
  const auto then = std::chrono::system_clock::now() + 2ms;
  EXPECT_EQ(provider.get_future().wait_until(then), future_status::timeout);
  EXPECT_GE(std::chrono::system_clock::now(), then);
}
// [thread.req.timing]: the clock of the time point decides. This clock is slow.
struct SlowClock : OwnClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<SlowClock, duration>;
  static time_point now() {
    return time_point(std::chrono::steady_clock::now().time_since_epoch() / 4);
  }
};
TEST_F(FuturesUniqueFuture, wait_until_times_out_by_the_clock_of_its_time) {
  promise<void> provider;
  const auto then = SlowClock::now() + 2ms;
  EXPECT_EQ(provider.get_future().wait_until(then), future_status::timeout);
  EXPECT_GE(SlowClock::now(), then);
}
TEST_F(FuturesUniqueFuture, a_time_that_is_past_is_a_look) {
  promise<void> provider;
  const future<void> result = provider.get_future();
  const auto look_everywhere = [&](future_status expected) {
    EXPECT_EQ(result.wait_for(0s), expected);
    EXPECT_EQ(result.wait_for(-1h), expected);
    EXPECT_EQ(result.wait_for(std::chrono::duration<double>(-1)), expected);
    EXPECT_EQ(result.wait_until(std::chrono::steady_clock::time_point()), expected);
    EXPECT_EQ(result.wait_until(std::chrono::system_clock::time_point()), expected);
    EXPECT_EQ(result.wait_until(OwnClock::time_point()), expected);
  };
  look_everywhere(future_status::timeout);
  provider.set_value();
  look_everywhere(future_status::ready);
}
TEST_F(FuturesUniqueFuture, timed_waits_return_when_it_becomes_ready) {
  const auto check = [](const auto& wait) {
    promise<void> provider;
    const future<void> result = provider.get_future();
    std::thread setter([&] {
      std::this_thread::sleep_for(5ms);
      provider.set_value();
    });
    EXPECT_EQ(wait(result), future_status::ready);
    setter.join();
  };
  check([](const auto& result) { return result.wait_for(1h); });
  check([](const auto& result) { return result.wait_for(std::chrono::hours(24 * 365)); });
  check(
      [](const auto& result) { return result.wait_until(std::chrono::steady_clock::now() + 1h); });
  check(
      [](const auto& result) { return result.wait_until(std::chrono::system_clock::now() + 1h); });
  check([](const auto& result) { return result.wait_until(OwnClock::now() + 1h); });
}
TEST_F(FuturesUniqueFuture, a_time_without_end_is_waited_for_until_the_result_is_there) {
  promise<void> provider;
  const future<void> result = provider.get_future();
  std::thread setter([&] {
    std::this_thread::sleep_for(5ms);
    provider.set_value();
  });
  EXPECT_EQ(result.wait_until(std::chrono::steady_clock::time_point::max()), future_status::ready);
  setter.join();
}
// [time.duration]: any arithmetic type counts, in any period
template <class Rep, class Period>
void check_durations() {
  using Duration = std::chrono::duration<Rep, Period>;
  const auto clock_time = []<class Clock>(Clock /*clock*/, auto time) {
    return std::chrono::time_point<Clock, decltype(time)>(time);
  };
  promise<void> pending, kept;
  const future<void> never = pending.get_future(), set = kept.get_future();
  kept.set_value();
  const auto wait_everywhere = [&](const auto& future, Duration time) {
    std::vector<future_status> answers{future.wait_for(time)};
    if (time == time.zero()) {  // libstdc++ 12 never returns if a steady clock has been negative
      answers.push_back(future.wait_until(clock_time(std::chrono::steady_clock(), time)));
      answers.push_back(future.wait_until(clock_time(std::chrono::system_clock(), time)));
    }
    return answers;
  };
  std::vector<Duration> past{Duration::zero(), Duration(Rep(0))};
  if constexpr (std::is_signed_v<Rep>) past.push_back(Duration(Rep(-1)));
  for (const Duration& each : past) {
    for (const auto answer : wait_everywhere(never, each))
      EXPECT_EQ(answer, future_status::timeout);
    for (const auto answer : wait_everywhere(set, each)) EXPECT_EQ(answer, future_status::ready);
  }
  // The least number of ticks for each of these times, up to 3 ms: the wait must not end too soon.
  for (const auto nanoseconds : {1.0, 1e3, 1e6, 3e6}) {
    const double ticks = std::ceil(nanoseconds * 1e-9 * double{Period::den} / double{Period::num});
    if (!(ticks * Period::num / Period::den < 0.01)) continue;  // the period is longer
    if (ticks >= static_cast<double>(std::numeric_limits<Rep>::max())) continue;
    const Duration time(static_cast<Rep>(ticks));
    const auto before = std::chrono::steady_clock::now();
    EXPECT_EQ(never.wait_for(time), future_status::timeout);
    EXPECT_GE(std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count(),
              std::chrono::duration<double>(time).count() * (1 - 1e-9));
  }
}
template <class Rep>
void check_periods() {
  check_durations<Rep, std::nano>();
  check_durations<Rep, std::pico>();
  check_durations<Rep, std::femto>();
  check_durations<Rep, std::micro>();
  check_durations<Rep, std::milli>();
  check_durations<Rep, std::ratio<1>>();
  check_durations<Rep, std::ratio<60>>();
  check_durations<Rep, std::ratio<1, 1001>>();
  check_durations<Rep, std::ratio<7, 3>>();
}
TEST_F(FuturesUniqueFuture, any_type_of_duration_can_be_waited_for) {
  check_periods<int>();
  check_periods<long>();
  check_periods<unsigned>();
  check_periods<unsigned long long>();
  check_periods<float>();
  check_periods<double>();
  check_periods<long double>();
}
// The longest times of each type, and longer ones: a wait ends when the result is there, and not
// before. The test leaves out times that overflow in the library's own arithmetic.
template <class Duration>
void check_long(Duration time) {
  promise<void> provider;
  const future<void> result = provider.get_future();
  std::thread setter([&] {
    std::this_thread::sleep_for(2ms);
    provider.set_value();
  });
  EXPECT_EQ(result.wait_for(time), future_status::ready);
  setter.join();
}
TEST_F(FuturesUniqueFuture, a_long_time_in_any_type_of_duration_is_waited_for) {
  check_long(std::chrono::duration<long, std::pico>::max());
  check_long(std::chrono::duration<long, std::femto>::max() / 2);
  check_long(std::chrono::duration<long double, std::pico>(std::chrono::hours(100)));
  check_long(std::chrono::duration<float>(1e6f));
  check_long(std::chrono::duration<unsigned char, std::ratio<3600>>(255));
  check_long(std::chrono::duration<short>::max());
  check_long(std::chrono::duration<long, std::ratio<1, 1001>>(1'000'000));
}

// wait_for and wait_until, Effects: none if there is a deferred function
TEST_F(FuturesUniqueFuture, a_timed_wait_says_deferred_and_does_not_call) {
  bool called = false;
  future<void> result = subject::async(subject::launch::deferred, [&] { called = true; });
  EXPECT_EQ(result.wait_for(0s), future_status::deferred);
  EXPECT_EQ(result.wait_for(1h), future_status::deferred);
  EXPECT_EQ(result.wait_until(std::chrono::steady_clock::now() + 1h), future_status::deferred);
  EXPECT_FALSE(called);
  result.wait();
  EXPECT_TRUE(called);
  EXPECT_EQ(result.wait_for(0s), future_status::ready);
}

// p3, the second note: implementations are encouraged to detect it
TEST_F(FuturesUniqueFuture, an_invalid_future_says_no_state) {
  future<int> none;
  EXPECT_EQ(code_of([&] { return none.get(); }), future_errc::no_state);
  EXPECT_EQ(code_of([&] { return none.wait(), 0; }), future_errc::no_state);
  EXPECT_EQ(code_of([&] { return none.wait_for(1s); }), future_errc::no_state);
  EXPECT_EQ(code_of([&] { return none.wait_until(std::chrono::steady_clock::now()); }),
            future_errc::no_state);
}

}  // namespace
}  // namespace conformance
