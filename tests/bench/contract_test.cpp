// The promises of bench.hpp to programs, checked against the one backend of this executable, in all
// its variants.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/resource.h>
#endif

#include "bench.hpp"

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#elif defined(__has_feature)
constexpr bool sanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool sanitized = false;
#endif

// Nested tasks: as deep as uts, but fewer if a thread per task costs a sanitizer megabytes each.
constexpr int depth = sanitized ? 300 : 7000;

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Contract : public testing::TestWithParam<bench::Variant> {
 protected:
  // One runtime at a time and one for all tests of a variant, as in a measured process.
  static void run(auto&& task) {
    if (started_variant_ != GetParam().name) {
      runtime_.reset();
      runtime_ = std::make_unique<bench::Backend>(2, GetParam().name);
      started_variant_ = GetParam().name;
    }
    runtime_->run(task);
  }
  static void TearDownTestSuite() { runtime_.reset(); }

 private:
  static inline std::unique_ptr<bench::Backend> runtime_;
  static inline std::string_view started_variant_;
};

// happened() is true if two tasks run at the same time, because each waits for the other.
class Rendezvous {
 public:
  void arrive() {
    ++arrived_;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (arrived_ < 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    if (arrived_ >= 2) ++met_;
  }
  bool happened() const { return met_ == 2; }

 private:
  std::atomic<int> arrived_ = 0;
  std::atomic<int> met_ = 0;
};

void sleep_a_little() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

TEST_P(Contract, a_result_of_any_type_comes_out_of_get) {
  run([] {
    int number = 7;
    EXPECT_EQ(bench::async([] { return 42; }).get(), 42);
    EXPECT_EQ(bench::async([] { return std::string(100, 'x'); }).get(), std::string(100, 'x'));
    EXPECT_EQ(*bench::async([] { return std::make_unique<int>(3); }).get(), 3);
    EXPECT_EQ(&bench::async([&]() -> int& { return number; }).get(), &number);
    bench::async([&] { number = 8; }).get();
    EXPECT_EQ(number, 8);
  });
}

TEST_P(Contract, callables_and_arguments_are_decayed_and_may_be_movable_only) {
  struct Doubler {
    int factor;
    int doubled(int x) const { return factor * x; }
  };
  run([] {
    auto owned = std::make_unique<int>(5);
    EXPECT_EQ(bench::async([p = std::move(owned)](std::unique_ptr<int> q) { return *p + *q; },
                           std::make_unique<int>(6))
                  .get(),
              11);
    int original = 1;
    bench::async([](int& copy) { copy = 2; }, std::ref(original)).get();
    EXPECT_EQ(original, 2);
    auto handle = bench::async([](std::string text) { return text; }, "a literal");
    auto moved = std::move(handle);
    EXPECT_EQ(moved.get(), "a literal");
    const Doubler doubler{2};
    EXPECT_EQ(bench::async(&Doubler::doubled, &doubler, 21).get(), 42);
    EXPECT_EQ(bench::async(&Doubler::doubled, doubler, 4).get(), 8);
  });
}

TEST_P(Contract, an_exception_comes_out_of_get_and_spares_other_tasks) {
  run([] {
    auto good = bench::async([] { return 1; });
    // The serial backend's plain call throws at once.
    EXPECT_THROW(bench::async([]() -> int { throw Failure("expected"); }).get(), Failure);
    EXPECT_THROW(bench::async([] { throw Failure("expected"); }).get(), Failure);
    EXPECT_EQ(good.get(), 1);
  });
}

TEST_P(Contract, a_handle_that_is_never_asked_waits_for_its_task) {
  run([] {
    for (int i = 0; i < 20; ++i) {
      std::atomic<int> ended = 0;
      EXPECT_THROW(
          [&] {
            auto fails = bench::async([] { throw Failure("first"); });
            auto sibling = bench::async([&ended] {
              std::this_thread::sleep_for(std::chrono::milliseconds(2));
              ++ended;
            });
            fails.get();
            sibling.get();
          }(),
          Failure);
      const int ended_at_throw = ended;
      std::this_thread::sleep_for(std::chrono::milliseconds(4));
      // A deferred task that never began may be dropped; a task that began has ended.
      EXPECT_EQ(ended, ended_at_throw);
    }
  });
}

TEST_P(Contract, an_exception_of_the_root_task_comes_out_of_run_and_the_next_run_works) {
  EXPECT_THROW(run([] { throw Failure("expected"); }), Failure);
  EXPECT_THROW(
      run([] { bench::async([] { bench::async([] { throw Failure("inner"); }).get(); }).get(); }),
      Failure);
  run([] { EXPECT_EQ(bench::async([] { return 1; }).get(), 1); });
}

TEST_P(Contract, fork_join_throws_after_all_branches_have_ended) {
  for (int thrower = 0; thrower < 3; ++thrower) {
    std::atomic<int> ended = 0;
    const auto branch = [&](int i) {
      if (i == thrower) throw Failure(std::to_string(i));
      sleep_a_little();
      ++ended;
    };
    run([&] {
      EXPECT_THROW(bench::fork_join([&] { branch(0); }, [&] { branch(1); }, [&] { branch(2); }),
                   Failure);
      if (bench::Backend::parallel) {
        EXPECT_EQ(ended, 2) << "when branch " << thrower << " throws";
      }
    });
  }
}

TEST_P(Contract, fork_join_survives_exceptions_in_all_branches) {
  const auto fails = [] { throw Failure("expected"); };
  run([&] {
    for (int i = 0; i < 50; ++i)
      EXPECT_THROW(bench::fork_join(fails, fails, fails, fails), Failure);
  });
}

TEST_P(Contract, fork_join_runs_from_one_to_eight_branches) {
  run([] {
    std::array<int, 8> seen{};
    const auto mark = [&](std::size_t i) { return [&seen, i] { ++seen[i]; }; };
    bench::fork_join(mark(0));
    bench::fork_join(mark(0), mark(1));
    bench::fork_join(mark(0), mark(1), mark(2));
    bench::fork_join(mark(0), mark(1), mark(2), mark(3), mark(4), mark(5), mark(6), mark(7));
    EXPECT_EQ(seen, (std::array{4, 3, 2, 1, 1, 1, 1, 1}));
  });
}

TEST_P(Contract, a_parallel_for_meets_each_item_once) {
  run([] {
    for (const std::size_t items : {0u, 1u, 2u, 3u, 17u, 1000u}) {
      std::vector<std::atomic<int>> met(items);
      bench::parallel_for(items, [&](std::size_t first, std::size_t last) {
        EXPECT_LT(first, last);
        for (std::size_t i = first; i < last; ++i) ++met[i];
      });
      for (const auto& each : met) EXPECT_EQ(each, 1);
    }
  });
}

TEST_P(Contract, a_parallel_for_throws_after_all_parts_have_ended) {
  run([] {
    std::atomic<int> running = 0, began = 0;
    const auto body = [&](std::size_t first, std::size_t last) {
      ++running;
      began += static_cast<int>(last - first);
      if (first == 0) {
        --running;
        throw Failure("expected");
      }
      sleep_a_little();
      --running;
    };
    EXPECT_THROW(bench::parallel_for(std::size_t{4}, body), Failure);
    EXPECT_EQ(running, 0);
    if (GetParam().parallel) {
      EXPECT_EQ(began, 4);
    }
    bench::parallel_for(std::size_t{4}, [](std::size_t, std::size_t) {});
  });
}

TEST_P(Contract, a_scope_waits_for_all_and_can_be_used_again) {
  run([] {
    std::atomic<int> ended = 0;
    bench::scope scope;
    for (int round = 1; round <= 3; ++round) {
      for (int i = 0; i < 100; ++i) {
        scope.spawn([&ended, owned = std::make_unique<int>(1)] { ended += *owned; });
      }
      scope.wait();
      EXPECT_EQ(ended, round * 100);
    }
    scope.wait();
  });
}

TEST_P(Contract, a_scope_throws_after_all_branches_have_ended) {
  run([] {
    std::atomic<int> ended = 0;
    bench::scope scope;
    const auto use = [&] {
      scope.spawn([] { throw Failure("expected"); });
      for (int i = 0; i < 3; ++i)
        scope.spawn([&] {
          sleep_a_little();
          ++ended;
        });
      scope.wait();
    };
    EXPECT_THROW(use(), Failure);
    if (bench::Backend::parallel) {
      EXPECT_EQ(ended, 3);
    }
    ended = 0;
    scope.spawn([&] { ++ended; });
    scope.wait();  // wait() delivers the exception once
    EXPECT_EQ(ended, 1);
  });
}

TEST_P(Contract, the_destructor_of_a_scope_waits_even_when_an_exception_passes) {
  run([] {
    std::atomic<int> ended = 0;
    const auto fails = [&] {
      bench::scope scope;
      for (int i = 0; i < 3; ++i)
        scope.spawn([&] {
          sleep_a_little();
          ++ended;
        });
      throw Failure("expected");
    };
    EXPECT_THROW(fails(), Failure);
    EXPECT_EQ(ended, 3);
  });
}

TEST_P(Contract, handles_are_joined_in_any_order) {
  run([] {
    const auto square = [](int i) { return i * i; };
    std::vector<bench::handle<decltype(square), int>> handles;
    for (int i = 0; i < 200; ++i) handles.push_back(bench::async(square, i));
    std::vector<std::size_t> order(handles.size());
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin(), order.end(), std::minstd_rand(1));
    for (const std::size_t i : order) EXPECT_EQ(handles[i].get(), static_cast<int>(i * i));
  });
}

TEST_P(Contract, forms_can_be_mixed_within_one_task) {
  run([] {
    std::atomic<int> sum = 0;
    bench::scope scope;
    scope.spawn([&] { sum += 1; });
    auto handle = bench::async([&] {
      bench::fork_join([&] { sum += 10; }, [&] { bench::async([&] { sum += 100; }).get(); });
      return 1000;
    });
    bench::fork_join([&] { sum += 10000; }, [] {});
    sum += handle.get();
    scope.wait();
    EXPECT_EQ(sum, 11111);
  });
}

int tree(int levels) {
  if (levels == 0) return 1;
  auto left = bench::async(tree, levels - 1);
  auto right = bench::async(tree, levels - 1);
  const int sum = left.get();
  return sum + right.get();
}

TEST_P(Contract, a_hundred_thousand_tasks_are_run_once_each) {
  run([] {
    std::atomic<int> ran = 0;
    const auto count = [&ran] { ++ran; };
    std::vector<bench::handle<decltype(count)>> handles;
    for (int batch = 0; batch < 100; ++batch) {
      handles.clear();
      // Few at once, because a backend may make a thread for each.
      for (int i = 0; i < (sanitized ? 100 : 1000); ++i) handles.push_back(bench::async(count));
      for (auto& handle : handles) handle.get();
    }
    EXPECT_EQ(ran, sanitized ? 10'000 : 100'000);
    EXPECT_EQ(tree(10), 1024);
  });
}

int nested(int levels) { return levels == 0 ? 0 : 1 + bench::async(nested, levels - 1).get(); }

TEST_P(Contract, tasks_nest_as_deep_as_an_unbalanced_tree) {
  run([] {
    try {
      EXPECT_EQ(nested(depth), depth);
    } catch (const std::system_error& error) {
      GTEST_SKIP() << "this machine gives fewer threads than " << depth << ": " << error.what();
    }
  });
}

int nested_fork_join(int levels) {
  int below = 0;
  if (levels > 0) bench::fork_join([&] { below = 1 + nested_fork_join(levels - 1); }, [] {});
  return below;
}

TEST_P(Contract, fork_joins_nest_as_deep_as_an_unbalanced_tree) {
  run([] {
    try {
      EXPECT_EQ(nested_fork_join(depth), depth);
    } catch (const std::system_error& error) {
      GTEST_SKIP() << "this machine gives fewer threads than " << depth << ": " << error.what();
    }
  });
}

TEST_P(Contract, two_threads_run_at_the_same_time) {
  if (!GetParam().parallel) GTEST_SKIP() << "this variant uses one thread";
  for (int repeat = 0; repeat < 20; ++repeat) {
    Rendezvous handles, branches, scoped, looped;
    run([&] {
      auto first = bench::async([&] { handles.arrive(); });
      auto second = bench::async([&] { handles.arrive(); });
      first.get();
      second.get();
      bench::fork_join([&] { branches.arrive(); }, [&] { branches.arrive(); });
      bench::scope scope;
      for (int i = 0; i < 2; ++i) scope.spawn([&] { scoped.arrive(); });
      scope.wait();
      bench::parallel_for(std::size_t{2}, [&](std::size_t item, std::size_t last) {
        for (; item < last; ++item) looped.arrive();
      });
    });
    ASSERT_TRUE(handles.happened() && branches.happened() && scoped.happened());
    ASSERT_TRUE(looped.happened());
  }
}

TEST_P(Contract, a_mutex_excludes_and_try_lock_tells) {
  constexpr int tasks = 8, turns = 5'000;
  run([] {
    bench::mutex mutex;
    int counter = 0;
    bench::scope scope;
    for (int i = 0; i < tasks; ++i) {
      scope.spawn([&] {
        for (int turn = 0; turn < turns; ++turn) {
          if (turn % 2 == 0 || !mutex.try_lock()) mutex.lock();
          ++counter;
          mutex.unlock();
        }
      });
    }
    scope.wait();
    EXPECT_EQ(counter, tasks * turns);
    ASSERT_TRUE(mutex.try_lock());
    mutex.unlock();
  });
}

TEST_P(Contract, two_mutexes_are_locked_together_in_opposite_orders_without_deadlock) {
  constexpr int tasks = 4, turns = 5'000;
  run([] {
    std::array<bench::mutex, 2> mutexes;
    std::array<int, 2> counters{};
    bench::scope scope;
    for (std::size_t i = 0; i < tasks; ++i) {
      scope.spawn([&, i] {
        for (int turn = 0; turn < turns; ++turn) {
          bench::lock(mutexes[i % 2], mutexes[1 - i % 2]);
          ++counters[0];
          ++counters[1];
          mutexes[0].unlock();
          mutexes[1].unlock();
        }
      });
    }
    scope.wait();
    EXPECT_EQ(counters, (std::array{tasks * turns, tasks * turns}));
  });
}

TEST_P(Contract, six_mutexes_are_locked_together_from_any_start_without_deadlock) {
  constexpr int turns = 1'000;
  run([] {
    std::array<bench::mutex, 6> mutexes;
    std::array<int, 6> counters{};
    bench::scope scope;
    for (std::size_t first = 0; first < 6; ++first) {
      scope.spawn([&, first] {
        for (int turn = 0; turn < turns; ++turn) {
          const auto at = [&](std::size_t i) -> bench::mutex& { return mutexes[(first + i) % 6]; };
          bench::lock(at(0), at(1), at(2), at(3), at(4), at(5));
          for (int& counter : counters) ++counter;
          for (auto& mutex : mutexes) mutex.unlock();
        }
      });
    }
    scope.wait();
    for (const int counter : counters) EXPECT_EQ(counter, 6 * turns);
  });
}

TEST_P(Contract, runs_can_follow_each_other_at_once) {
  for (int i = 0; i < 300; ++i) {
    int result = 0;
    run([&] { result = tree(3); });
    ASSERT_EQ(result, 8);
  }
}

TEST_P(Contract, the_version_is_not_empty) { EXPECT_NE(bench::Backend::version(), ""); }

INSTANTIATE_TEST_SUITE_P(Variants, Contract, testing::ValuesIn(bench::Backend::variants),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
#if defined(__linux__)
  rlimit limit{};  // as the harness does
  getrlimit(RLIMIT_STACK, &limit);
  limit.rlim_cur = std::min<rlim_t>(bench::stack_bytes, limit.rlim_max);
  setrlimit(RLIMIT_STACK, &limit);
#endif
  return RUN_ALL_TESTS();
}
