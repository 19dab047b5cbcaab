// [futures.overview]: the enumerations of <future>.
#include <type_traits>
#include <utility>

#include "subject.hpp"

namespace conformance {
namespace {

using FuturesOverview = Clause;
using subject::future_errc;
using subject::future_status;
using subject::launch;

// "distinct and not zero"
TEST_F(FuturesOverview, the_values_of_future_errc_are_distinct_and_not_zero) {
  constexpr std::array all{future_errc::broken_promise, future_errc::future_already_retrieved,
                           future_errc::promise_already_satisfied, future_errc::no_state};
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_NE(static_cast<int>(all[i]), 0);
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(all[i], all[j]);
  }
}

// synopsis: is_error_code_enum<future_errc>
TEST_F(FuturesOverview, a_future_errc_is_an_error_code) {
  EXPECT_TRUE(std::is_error_code_enum_v<future_errc>);
  EXPECT_TRUE((std::is_convertible_v<future_errc, std::error_code>));
  const std::error_code code = future_errc::no_state;
  EXPECT_EQ(code, future_errc::no_state);
  EXPECT_NE(code, future_errc::broken_promise);
}

template <class E>
constexpr bool scoped = std::is_enum_v<E> && !std::is_convertible_v<E, std::underlying_type_t<E>>;

// synopsis: enum class
TEST_F(FuturesOverview, the_enumerations_are_scoped) {
  EXPECT_TRUE(scoped<future_errc>);
  EXPECT_TRUE(scoped<launch>);
  EXPECT_TRUE(scoped<future_status>);
}

// "a bitmask type", [bitmask.types]
TEST_F(FuturesOverview, launch_is_a_bitmask_type) {
  constexpr launch none{}, a = launch::async, d = launch::deferred;
  static_assert((a | d) == (d | a) && (a & d) == none && (a ^ d) == (a | d) && (a ^ a) == none);
  static_assert((~a & a) == none && (~a & d) == d && ((a | d) & ~d) == a);
  EXPECT_NE(a, none);
  EXPECT_NE(d, none);
  EXPECT_NE(a, d);
  launch value = a;
  EXPECT_EQ(&(value |= d), &value);
  EXPECT_EQ(value, a | d);
  EXPECT_EQ(&(value &= d), &value);
  EXPECT_EQ(value, d);
  EXPECT_EQ(&(value ^= d), &value);
  EXPECT_EQ(value, none);
}

// synopsis
TEST_F(FuturesOverview, the_values_of_future_status_are_distinct) {
  EXPECT_NE(future_status::ready, future_status::timeout);
  EXPECT_NE(future_status::ready, future_status::deferred);
  EXPECT_NE(future_status::timeout, future_status::deferred);
}

}  // namespace
}  // namespace conformance
