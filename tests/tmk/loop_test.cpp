// Loops: every iteration runs once, even if some throw; reductions keep the order of the range; and
// loops in tasks, in loops and on pools of every size.
#include "tmk/loop.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <latch>
#include <limits>
#include <list>
#include <memory>
#include <numeric>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support.hpp"
#include "tmk/async.hpp"
#include "tmk/pool.hpp"

namespace {

using std::chrono_literals::operator""ms;

// The types that the template refuses at compile time.
template <class T>
concept indexes = requires(T first) { tmk::for_each_index(first, first, [](T) {}); };
static_assert(indexes<int> && indexes<std::uint64_t> && indexes<signed char>);
static_assert(!indexes<bool> && !indexes<double>);
template <class R>
concept loops_over = requires(R range) { tmk::parallel_for(range, [](auto&&) {}); };
static_assert(loops_over<std::vector<int>> && loops_over<const std::deque<int>>);
static_assert(!loops_over<std::list<int>>);

class Loops : public testing::TestWithParam<unsigned> {
 protected:
  support::Deadline deadline_;
  tmk::pool pool_{GetParam()};
};

TEST_P(Loops, every_index_is_called_once_whatever_the_number) {
  pool_.run([] {
    for (const auto count : std::to_array<std::size_t>({0, 1, 2, 3, 7, 64, 1000, 100'000})) {
      std::vector<std::atomic<int>> calls(count);
      tmk::for_each_index(std::size_t{0}, count, [&](std::size_t i) { ++calls[i]; });
      ASSERT_TRUE(std::ranges::all_of(calls, [](const auto& each) { return each == 1; })) << count;
    }
  });
}

TEST_P(Loops, indices_of_every_type_reach_their_ends) {
  pool_.run([] {
    std::atomic<int> calls{0};
    std::atomic<long> sum{0};
    const auto count = [&](auto i) {
      ++calls;
      sum += static_cast<long>(i);
    };
    tmk::for_each_index(std::numeric_limits<signed char>::min(),
                        std::numeric_limits<signed char>::max(), count);
    EXPECT_EQ(calls.exchange(0), 255);
    EXPECT_EQ(sum.exchange(0), -255);  // -128 + ... + 126
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    tmk::for_each_index(kMost - 3, kMost, [&](std::int64_t i) { sum += kMost - i; });
    EXPECT_EQ(sum.exchange(0), 6);
    constexpr auto kUnsigned = std::numeric_limits<std::uint64_t>::max();
    tmk::for_each_index(kUnsigned - 3, kUnsigned, [&](std::uint64_t) { ++calls; });
    EXPECT_EQ(calls.exchange(0), 3);
    tmk::for_each_index(0, std::size_t{10}, count);  // of two types
    EXPECT_EQ(calls.exchange(0), 10);
    tmk::for_each_index(5, 5, count);
    tmk::for_each_index(5, -5, count);
    EXPECT_EQ(calls, 0);
  });
}

TEST_P(Loops, an_index_that_the_common_type_cannot_hold_is_refused) {
  pool_.run([] {
    bool called = false;
    EXPECT_THROW(tmk::for_each_index(-1, 3u, [&](unsigned) { called = true; }),
                 std::invalid_argument);
    EXPECT_FALSE(called);
  });
}

TEST_P(Loops, elements_of_a_range_are_changed_in_place) {
  pool_.run([] {
    std::vector<int> numbers(10'000);
    std::iota(numbers.begin(), numbers.end(), 0);
    tmk::parallel_for(numbers, [](int& each) { each = -each; });
    for (int i = 0; i < 10'000; ++i) ASSERT_EQ(numbers[static_cast<std::size_t>(i)], -i);
    std::atomic<long> sum{0};
    tmk::parallel_for(std::span(numbers).first(100), [&](int each) { sum += each; });
    EXPECT_EQ(sum, -4950);
  });
}

TEST_P(Loops, the_exception_of_an_iteration_comes_out_and_the_rest_is_dropped) {
  pool_.run([] {
    constexpr int kCount = 1'000'000;
    std::atomic<int> running{0}, calls{0};
    const auto loop = [&] {
      tmk::for_each_index(0, kCount, [&](int i) {
        ++running;
        ++calls;
        const bool bad = i == 17;
        --running;
        if (bad) throw std::runtime_error("17");
        if (i > 1000) std::this_thread::sleep_for(1ms);  // all of these would take minutes
      });
    };
    try {
      loop();
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "17");
    }
    EXPECT_EQ(running, 0);  // all iterations have ended
    EXPECT_LT(calls, kCount / 2);
  });
}

TEST_P(Loops, every_iteration_may_throw) {
  pool_.run([] {
    for (int round = 0; round < 100; ++round) {
      EXPECT_THROW(tmk::for_each_index(0, 1000, [](int i) { throw i; }), int);
    }
    const std::vector<int> numbers(1000, 1);
    const auto bad = [](int) -> int { throw 1; };
    for (const auto how : {tmk::grouping::automatic, tmk::grouping::fixed}) {
      EXPECT_THROW(static_cast<void>(tmk::parallel_reduce(numbers, 0, std::plus<>(), bad, how)),
                   int);
    }
  });
}

// A thread that has learnt how many iterations take a few microseconds uses it behind a fork too.
// The thread may lose its processor meanwhile, so the best of several loops counts.
TEST(Paces, a_loop_of_short_iterations_is_hardly_divided_on_one_thread) {
  struct Counted {
    int& divided;
    void run(std::size_t, std::size_t) {}
    Counted split() {
      ++divided;
      return *this;
    }
    void append(Counted&) {}
  };
  constexpr int kLevels = 20;
  tmk::pool pool{1};
  int least = kLevels;
  for (int i = 0; i < 50; ++i) {
    int divided = 0;
    pool.run([&] {
      Counted part{divided};
      tmk::detail::run_loop(part, std::size_t{1} << kLevels);
    });
    least = std::min(least, divided);
  }
  EXPECT_LE(least, kLevels / 2);
}

TEST(Reductions, a_sum_may_have_a_type_that_arithmetic_widens) {
  const std::vector<short> ones(1'000, 1);
  for (const tmk::grouping how : {tmk::grouping::automatic, tmk::grouping::fixed}) {
    EXPECT_EQ(tmk::parallel_reduce(ones, short{2}, std::plus<>(), std::identity(), how), 1'002);
  }
}

TEST_P(Loops, a_reduction_keeps_the_order_of_the_range) {
  pool_.run([] {
    std::vector<std::string> words;
    std::string expected = "begin";
    for (int i = 0; i < 3000; ++i) expected += words.emplace_back(std::to_string(i) + ",");
    for (const auto how : {tmk::grouping::automatic, tmk::grouping::fixed}) {
      const std::string found =
          tmk::parallel_reduce(words, std::string("begin"), std::plus<>(), std::identity(), how);
      EXPECT_EQ(found, expected);
    }
  });
}

TEST_P(Loops, a_reduction_of_nothing_is_its_beginning) {
  pool_.run([] {
    for (const auto how : {tmk::grouping::automatic, tmk::grouping::fixed}) {
      EXPECT_EQ(tmk::parallel_reduce(std::vector<int>(), 5, std::plus<>(), std::identity(), how),
                5);
      EXPECT_EQ(tmk::parallel_reduce(std::vector{2}, 5, std::plus<>(), std::identity(), how), 7);
    }
  });
}

// Elements that are made on access, like those of views and std::vector<bool>.
TEST_P(Loops, a_reduction_uses_elements_that_are_temporaries_while_they_live) {
  pool_.run([] {
    const auto numbers = std::views::iota(0, 3000);
    const auto texts = numbers | std::views::transform(
                                     [](int i) { return std::to_string(i) + " is no short one;"; });
    std::string expected;
    for (const int i : numbers) expected += std::to_string(i) + " is no short one;";
    std::vector<bool> bits(3000);
    for (std::size_t i = 0; i < bits.size(); i += 3) bits[i] = true;
    for (const auto how : {tmk::grouping::automatic, tmk::grouping::fixed}) {
      const auto plus = std::plus<>();
      EXPECT_EQ(tmk::parallel_reduce(numbers, 0L, plus, std::identity(), how), 4'498'500);
      EXPECT_EQ(tmk::parallel_reduce(texts, std::string(), plus, std::identity(), how), expected);
      EXPECT_EQ(tmk::parallel_reduce(bits, 0, plus, std::identity(), how), 1000);
    }
  });
}

TEST_P(Loops, a_reduction_takes_an_operation_that_returns_a_reference) {
  pool_.run([] {
    std::vector<std::string> words;
    for (int i = 0; i < 3000; ++i)
      words.push_back("a word too long for itself " + std::to_string(i));
    const std::string& (*longest)(const std::string&, const std::string&) = std::max<std::string>;
    for (const auto how : {tmk::grouping::automatic, tmk::grouping::fixed}) {
      EXPECT_EQ(tmk::parallel_reduce(words, std::string(), longest, std::identity(), how),
                "a word too long for itself 999");
    }
  });
}

TEST_P(Loops, the_longest_loop_there_is_begins_with_its_first_call) {
  pool_.run([] {
    const auto stop = [](auto i) { throw i; };
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    EXPECT_THROW(tmk::for_each_index(std::uint64_t{0}, most, stop), std::uint64_t);
    constexpr auto all = std::numeric_limits<std::int64_t>{};
    EXPECT_THROW(tmk::for_each_index(all.min(), all.max(), stop), std::int64_t);
  });
}

// Values can be moved only, and transform makes them from elements of another type.
TEST_P(Loops, a_reduction_moves_its_values) {
  pool_.run([] {
    std::vector<int> numbers(1000);
    std::iota(numbers.begin(), numbers.end(), 0);
    using Value = std::unique_ptr<long>;
    const Value sum = tmk::parallel_reduce(
        numbers, std::make_unique<long>(1),
        [](Value a, Value b) {
          *a += *b;
          return a;
        },
        [](int each) { return std::make_unique<long>(each); });
    EXPECT_EQ(*sum, 499'501);
  });
}

// The sum of floating-point numbers depends on their grouping.
TEST(Reduction, is_the_same_on_any_number_of_threads_with_fixed_groups) {
  const support::Deadline deadline;
  std::vector<double> numbers(100'003);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = 1.0 / static_cast<double>(3 * i + 1) * (i % 2 == 0 ? 1 : -1);
  }
  const auto sum = [&] {
    return tmk::parallel_reduce(numbers, 0.0, std::plus<>(), std::identity(), tmk::grouping::fixed);
  };
  const double expected = sum();
  for (const unsigned threads : {1u, 2u, 5u}) {
    tmk::pool pool(threads);
    for (int round = 0; round < 20; ++round) ASSERT_EQ(pool.run(sum), expected) << threads;
  }
}

TEST_P(Loops, loops_in_loops_and_in_tasks_end) {
  pool_.run([] {
    std::atomic<int> calls{0};
    std::vector<tmk::future<void>> tasks;
    for (int task = 0; task < 10; ++task) {
      tasks.push_back(tmk::async([&] {
        tmk::for_each_index(0, 20, [&](int) { tmk::for_each_index(0, 50, [&](int) { ++calls; }); });
      }));
    }
    for (auto& each : tasks) each.get();
    EXPECT_EQ(calls, 10'000);
  });
}

// Long iterations are shared out although the iterations before them were short.
TEST_P(Loops, all_threads_get_iterations_whose_lengths_differ) {
  if (GetParam() == 1) GTEST_SKIP() << "one thread";
  pool_.run([] {
    std::atomic<unsigned> inside{0}, most{0};
    tmk::for_each_index(0, 10'000, [&](int i) {
      if (i < 9'900) return;
      const unsigned now = ++inside;
      for (unsigned seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
      }
      std::this_thread::sleep_for(2ms);
      --inside;
    });
    EXPECT_GE(most, 2u);
  });
}

// Two iterations wait for each other, so both must run at the same time, as with a thread per half.
TEST_P(Loops, the_halves_of_a_loop_are_run_at_the_same_time) {
  if (GetParam() == 1) GTEST_SKIP() << "one thread";
  pool_.run([] {
    for (int round = 0; round < 50; ++round) {
      std::latch both(2);
      tmk::for_each_index(0, 2, [&](int) { both.arrive_and_wait(); });
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Threads, Loops, testing::Values(1u, 2u, 5u));

}  // namespace
