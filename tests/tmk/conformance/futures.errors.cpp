// [futures.errors] and [futures.future.error]: the category, its codes, and future_error.
#include <stdexcept>
#include <string>
#include <type_traits>

#include "subject.hpp"

namespace conformance {
namespace {

using FuturesErrors = Clause;
using subject::future_category;
using subject::future_errc;
using subject::future_error;

constexpr std::array codes{future_errc::broken_promise, future_errc::future_already_retrieved,
                           future_errc::promise_already_satisfied, future_errc::no_state};

// future_category, and its name
TEST_F(FuturesErrors, there_is_one_category_and_its_name_is_future) {
  EXPECT_TRUE((std::is_same_v<decltype(future_category()), const std::error_category&>));
  EXPECT_TRUE(noexcept(future_category()));
  EXPECT_EQ(&future_category(), &future_category());
  EXPECT_STREQ(future_category().name(), "future");
  EXPECT_NE(future_category(), std::generic_category());
}

// future_category: the rest is as error_category specifies
TEST_F(FuturesErrors, the_category_has_the_default_conditions_and_equivalences) {
  for (const future_errc each : codes) {
    const int value = static_cast<int>(each);
    const std::error_condition condition(value, future_category());
    EXPECT_EQ(future_category().default_error_condition(value), condition);
    EXPECT_TRUE(future_category().equivalent(value, condition));
    EXPECT_FALSE(future_category().equivalent(value + 1, condition));
    EXPECT_TRUE(future_category().equivalent(std::error_code(value, future_category()), value));
    EXPECT_FALSE(
        future_category().equivalent(std::error_code(value, std::generic_category()), value));
  }
}

// make_error_code
TEST_F(FuturesErrors, make_error_code_has_the_value_and_the_category) {
  for (const future_errc each : codes) {
    const std::error_code code = subject::make_error_code(each);
    EXPECT_EQ(code.value(), static_cast<int>(each));
    EXPECT_EQ(code.category(), future_category());
    EXPECT_FALSE(code.message().empty());
  }
  EXPECT_TRUE(noexcept(make_error_code(future_errc::no_state)));
}

// make_error_condition
TEST_F(FuturesErrors, make_error_condition_has_the_value_and_the_category) {
  for (const future_errc each : codes) {
    const std::error_condition condition = subject::make_error_condition(each);
    EXPECT_EQ(condition.value(), static_cast<int>(each));
    EXPECT_EQ(condition.category(), future_category());
    EXPECT_EQ(subject::make_error_code(each), condition);
  }
  EXPECT_TRUE(noexcept(make_error_condition(future_errc::no_state)));
}

// [futures.future.error] synopsis
TEST_F(FuturesErrors, a_future_error_is_a_logic_error_made_from_a_code_explicitly) {
  EXPECT_TRUE((std::is_base_of_v<std::logic_error, future_error>));
  EXPECT_TRUE((std::is_convertible_v<future_error*, std::logic_error*>));
  EXPECT_TRUE((std::is_constructible_v<future_error, future_errc>));
  EXPECT_FALSE((std::is_convertible_v<future_errc, future_error>));
}

// [futures.future.error]
TEST_F(FuturesErrors, code_is_the_code_that_the_error_was_made_from) {
  for (const future_errc each : codes) {
    const future_error error(each);
    EXPECT_EQ(error.code(), each);
    EXPECT_EQ(error.code(), subject::make_error_code(each));
    EXPECT_TRUE((std::is_same_v<decltype(error.code()), const std::error_code&>));
    EXPECT_TRUE(noexcept(error.code()));
  }
}

// [futures.future.error]: "an NTBS incorporating code().message()"
TEST_F(FuturesErrors, what_incorporates_the_message_of_the_code) {
  for (const future_errc each : codes) {
    const future_error error(each);
    EXPECT_NE(std::string(error.what()).find(error.code().message()), std::string::npos);
    EXPECT_TRUE(noexcept(error.what()));
  }
}

// [exception]: a class derived from exception is copied without exceptions
TEST_F(FuturesErrors, copies_never_throw_and_say_the_same) {
  EXPECT_TRUE(std::is_nothrow_copy_constructible_v<future_error>);
  EXPECT_TRUE(std::is_nothrow_copy_assignable_v<future_error>);
  const future_error error(future_errc::broken_promise);
  future_error copy(error);
  EXPECT_EQ(copy.code(), error.code());
  EXPECT_STREQ(copy.what(), error.what());
  const future_error other(future_errc::no_state);
  copy = other;
  EXPECT_EQ(copy.code(), other.code());
  EXPECT_STREQ(copy.what(), other.what());
}

}  // namespace
}  // namespace conformance
