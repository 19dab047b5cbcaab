// The subject of the conformance tests: namespace `subject`, which is std or tmk, and the one list
// of the known deviations of each library from the standard.
//
// A test is written from the text of C++20 (N4861) and passes on libstdc++ or on libc++. A test
// that is on the list must fail: when it passes, the list is wrong, and that is a failure.
#pragma once

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <iostream>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#if SUBJECT_IS_TMK
#include <tmk/async.hpp>
#include <tmk/mutex.hpp>
namespace subject = tmk;
#else
#include <future>
#include <mutex>
namespace subject = std;
#endif

namespace conformance {

#if SUBJECT_IS_TMK
inline constexpr std::string_view library = "tmk";
#elif defined(_LIBCPP_VERSION)
inline constexpr std::string_view library = "libc++";
#else
inline constexpr std::string_view library = "libstdc++";
#endif

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CONFORMANCE_UNDER_TSAN
#endif
#endif
#if defined(CONFORMANCE_UNDER_TSAN)
inline constexpr bool under_tsan = true;
#else
inline constexpr bool under_tsan = false;
#endif

enum class Known {
  fails,       // always
  may_fail,    // the order of the threads decides
  cannot_run,  // the test would end the process
};
struct Exception {
  std::string_view library, test;
  Known known;
  std::string_view reason;
  bool only_under_tsan = false;
};

inline constexpr std::string_view no_instrumentation =
    "ThreadSanitizer does not see what the library's binary does, which makes it ready";
inline constexpr std::string_view llvm_64883 =
    "LLVM 64883: the thread is detached, and may go on when its result is there";
inline constexpr std::string_view llvm_125426 =
    "LLVM 125426: not detected, and the standard only encourages it";
inline constexpr std::string_view llvm_125428 =
    "LLVM 125428: when the thread is refused, async waits for ever for its end";
inline constexpr std::string_view fine_periods_overflow =
    "libc++ 19 counts the steady clock's time in the period of the duration, which overflows";
inline constexpr std::string_view tmk_tasks =
    "on purpose: a pool's threads stay, and who waits for a task runs it; see launch::thread";

// tmk deviates on purpose where a test says "task": launch::async gives the call to a pool, whose
// threads stay, and a thread that waits for a call that has not started runs it. This makes tmk
// fast. launch::thread is for users who need the standard's launch::async, and the standard's
// rules are tested with it (`new_thread`).
inline constexpr Exception exceptions[] = {
    {"libstdc++",
     "FuturesSharedFuture.a_deferred_function_that_runs_is_not_deferred_and_is_waited_for",
     Known::fails, "libstdc++ 12 says deferred until the result is there"},
    {"libstdc++",
     "FuturesState.a_thread_s_objects_are_destroyed_before_what_is_set_at_its_exit_is_ready",
     Known::cannot_run, no_instrumentation, true},
    {"libstdc++", "FuturesState.what_a_new_thread_of_async_sets_at_exit_is_ready_after_its_objects",
     Known::cannot_run, no_instrumentation, true},
    {"libstdc++",
     "FuturesState.what_a_task_of_async_sets_at_exit_is_ready_after_its_thread_s_objects",
     Known::cannot_run, no_instrumentation, true},
    {"libstdc++", "FuturesState.when_a_new_thread_has_ended_what_it_set_at_its_exit_is_ready",
     Known::cannot_run, no_instrumentation, true},
    {"libstdc++", "FuturesState.many_results_can_be_set_at_one_thread_s_exit", Known::cannot_run,
     no_instrumentation, true},
    {"libstdc++", "FuturesAsync.a_timed_wait_says_ready_after_the_end_of_the_thread",
     Known::may_fail, "libstdc++ 12 says ready at once, without a join, when the result is there"},
    {"libstdc++", "FuturesPromise.what_copying_throws_comes_out_and_leaves_the_promise_open",
     Known::cannot_run, "a call_once that an exception left hangs under ThreadSanitizer", true},

    {"libc++", "FuturesAsync.get_returns_after_the_end_of_the_thread", Known::fails, llvm_64883},
    {"libc++", "FuturesAsync.wait_returns_after_the_end_of_the_thread", Known::fails, llvm_64883},
    {"libc++", "FuturesAsync.a_timed_wait_says_ready_after_the_end_of_the_thread", Known::fails,
     llvm_64883},
    {"libc++", "FuturesAsync.shared_futures_too_wait_for_the_end_of_the_thread", Known::fails,
     llvm_64883},
    {"libc++", "FuturesAsync.the_last_release_returns_after_the_end_of_the_thread", Known::fails,
     llvm_64883},
    {"libc++", "FuturesAsync.get_of_a_task_returns_after_the_end_of_its_thread", Known::fails,
     llvm_64883},
    {"libc++", "FuturesAsync.callable_arguments_and_result_are_destroyed", Known::may_fail,
     llvm_64883},
    {"libc++", "FuturesAsync.an_lvalue_is_copied_once_and_an_rvalue_not", Known::may_fail,
     llvm_64883},
    {"libc++", "FuturesState.when_a_new_thread_has_ended_what_it_set_at_its_exit_is_ready",
     Known::may_fail, llvm_64883},
    {"libc++", "FuturesState.a_result_that_nobody_fetches_is_destroyed_once", Known::may_fail,
     llvm_64883},
    {"libc++", "FuturesState.an_exception_that_nobody_fetches_is_destroyed", Known::may_fail,
     llvm_64883},
    {"libc++", "FuturesAsync.a_thread_that_is_refused_is_a_system_error", Known::fails,
     llvm_125428},
    {"libc++", "FuturesAsync.a_task_for_which_there_is_no_thread_is_a_system_error", Known::fails,
     llvm_125428},
    {"libc++", "FuturesAsync.by_default_a_call_for_which_there_is_no_thread_runs_all_the_same",
     Known::fails, llvm_125428},
    {"libc++", "FuturesUniqueFuture.an_invalid_future_says_no_state", Known::cannot_run,
     llvm_125426},
    {"libc++", "FuturesSharedFuture.an_invalid_shared_future_says_no_state", Known::cannot_run,
     llvm_125426},
    {"libc++", "FuturesUniqueFuture.any_type_of_duration_can_be_waited_for", Known::cannot_run,
     fine_periods_overflow},
    {"libc++", "FuturesUniqueFuture.a_long_time_in_any_type_of_duration_is_waited_for",
     Known::cannot_run, fine_periods_overflow},

    {"tmk", "FuturesAsync.a_task_runs_on_a_thread_of_its_own", Known::may_fail, tmk_tasks},
    {"tmk", "FuturesAsync.a_task_has_thread_local_objects_of_its_own", Known::fails, tmk_tasks},
    {"tmk", "FuturesAsync.get_of_a_task_returns_after_the_end_of_its_thread", Known::fails,
     tmk_tasks},
    {"tmk", "FuturesState.what_a_task_of_async_sets_at_exit_is_ready_after_its_thread_s_objects",
     Known::fails, "on purpose: a task's results are ready when it ends, for its thread does not"},
    {"tmk", "FuturesAsync.a_task_for_which_there_is_no_thread_is_a_system_error", Known::fails,
     "on purpose: a task needs no new thread, so it runs where a thread is"},
};

// A test is shown to be right only by a library that passes it.
consteval bool no_test_fails_everywhere() {
  for (const Exception& a : exceptions) {
    for (const Exception& b : exceptions) {
      if (a.test == b.test && a.library == "libstdc++" && b.library == "libc++" &&
          a.known != Known::may_fail && !a.only_under_tsan)
        return false;
    }
  }
  return true;
}
static_assert(no_test_fails_everywhere());

// Every test's fixture: looks the test up in the list, and inverts the result of a listed test.
class Clause : public testing::Test {
 protected:
  void SetUp() override {
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    const std::string name = std::string(test.test_suite_name()) + '.' + test.name();
    for (const Exception& each : exceptions) {
      if (each.library == library && each.test == name && (under_tsan || !each.only_under_tsan)) {
        exception_ = &each;
      }
    }
    if (exception_ == nullptr) return;
    if (exception_->known == Known::cannot_run) {
      GTEST_SKIP() << "not run with " << library << ": " << exception_->reason;
    }
    intercepted_.emplace(testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS,
                         &results_);
  }
  void TearDown() override {
    if (!intercepted_) return;
    intercepted_.reset();
    bool failed = false;
    for (int i = 0; i < results_.size(); ++i) {
      const testing::TestPartResult& result = results_.GetTestPartResult(i);
      if (result.skipped()) GTEST_SKIP() << result.message();
      failed = failed || result.failed();
    }
    if (failed) {
      std::cout << "fails, as is known of " << library << ": " << exception_->reason << '\n';
    } else if (exception_->known == Known::fails) {
      ADD_FAILURE() << library << " passes: take this test off the list of exceptions";
    }
  }

 private:
  const Exception* exception_ = nullptr;
  testing::TestPartResultArray results_;
  std::optional<testing::ScopedFakeTestPartResultReporter> intercepted_;
};

// In each executable, for the clauses that are in it.
TEST(ExceptionsList, only_names_tests_that_exist) {
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (const Exception& each : exceptions) {
    const std::string_view suite = each.test.substr(0, each.test.find('.'));
    bool suite_found = false, test_found = false;
    for (int s = 0; s < all.total_test_suite_count(); ++s) {
      const testing::TestSuite& has = *all.GetTestSuite(s);
      if (has.name() != suite) continue;
      suite_found = true;
      for (int t = 0; t < has.total_test_count(); ++t) {
        test_found = test_found || each.test.substr(suite.size() + 1) == has.GetTestInfo(t)->name();
      }
    }
    EXPECT_EQ(suite_found, test_found) << each.test;
  }
}

// ---- common to the tests ----

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""us;

// The policy with which async gives each call a thread of its own.
template <class Launch>
constexpr Launch thread_policy() {
  if constexpr (requires { Launch::thread; }) {
    return Launch::thread;
  } else {
    return Launch::async;
  }
}
inline constexpr subject::launch new_thread = thread_policy<subject::launch>();

// Long enough for a mistake to show itself; a correct result never depends on it.
inline constexpr auto a_while = 30ms;

// The code of the future_error that comes out of the call, if one does.
template <class F>
std::optional<std::error_code> code_of(const F& call) {
  try {
    static_cast<void>(call());
  } catch (const subject::future_error& error) {
    return error.code();
  }
  return std::nullopt;
}

struct MoveOnly {
  int value = 0;
  explicit MoveOnly(int v) : value(v) {}
  MoveOnly(MoveOnly&& other) noexcept : value(std::exchange(other.value, -1)) {}
  MoveOnly& operator=(MoveOnly&& other) noexcept {
    value = std::exchange(other.value, -1);
    return *this;
  }
};

// Counts the live objects, copies and moves. The numbers live as long as any object.
struct Counted {
  struct Numbers {
    std::atomic<int> alive{0}, copies{0}, moves{0};
  };
  static std::shared_ptr<Numbers> count() { return std::make_shared<Numbers>(); }
  explicit Counted(std::shared_ptr<Numbers> n) : numbers(std::move(n)) { ++numbers->alive; }
  Counted(const Counted& other) : Counted(other.numbers) { ++numbers->copies; }
  Counted(Counted&& other) noexcept : Counted(other.numbers) { ++numbers->moves; }
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --numbers->alive; }
  const std::shared_ptr<Numbers> numbers;
};

// Throws an int when it is copied or moved.
struct ThrowsOnCopy {
  ThrowsOnCopy() = default;
  ThrowsOnCopy(const ThrowsOnCopy& /*other*/) { throw 7; }
};
struct ThrowsOnMove {
  ThrowsOnMove() = default;
  ThrowsOnMove(ThrowsOnMove&& /*other*/) { throw 8; }
};

}  // namespace conformance
