// One deque under load: its owner, thieves, and threads that want one of its tasks. No thread runs
// a task twice, and no task is lost.
#define TMK_ASSERTIONS

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <latch>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "support.hpp"
#include "tmk/async.hpp"
#include "tmk/fork_join.hpp"
#include "tmk/pool.hpp"

namespace {

using support::below;
using support::one_in;

// The tasks that a thief takes from the calling thread, one after the other, until none is left.
std::vector<int> stolen_from_here(const std::vector<int>& run) {
  tmk::detail::Worker& victim = tmk::detail::this_worker();
  std::thread([&victim] {
    while (tmk::detail::Task* const task = victim.steal().task) task->operations->run(*task);
  }).join();
  EXPECT_FALSE(victim.may_have_pending());  // otherwise threads without work would not sleep
  return run;
}
// Makes n tasks in one call, numbered from `first`.
[[gnu::noinline]] std::vector<tmk::future<void>> siblings(int first, int n, std::vector<int>& run) {
  std::vector<tmk::future<void>> made;
  for (int i = 0; i < n; ++i)
    made.push_back(tmk::async([&run, k = first + i] { run.push_back(k); }));
  return made;
}

TEST(Thief, takes_the_newest_of_the_oldest_siblings) {
  tmk::pool pool(1);
  pool.run([] {
    std::vector<int> run;
    const auto old = siblings(0, 3, run);
    [&]() __attribute__((noinline)) {
      std::array<char, 64> deeper;  // than the frame above, so the next tasks are this call's
      asm volatile("" : : "r"(deeper.data()) : "memory");
      const auto young = siblings(3, 2, run);
      EXPECT_EQ(stolen_from_here(run), (std::vector{2, 1, 0, 4, 3}));
    }();
  });
}
TEST(Thief, takes_from_the_far_end_of_a_long_list) {
  tmk::pool pool(1);
  pool.run([] {
    std::vector<int> run;
    auto list = siblings(0, 100, run);
    list[0].get();
    // One fence opens all others, and the thief takes the newest first.
    const std::vector<int> order = stolen_from_here(run);
    ASSERT_EQ(order.size(), 100u);
    EXPECT_EQ(order[0], 0);
    EXPECT_EQ(order[1], 99);
    EXPECT_EQ(order[99], 1);
  });
}
TEST(Thief, leaves_nothing_that_looks_pending_where_an_exposure_failed) {
  if (!tmk::detail::has_membarrier) GTEST_SKIP() << "nothing is private without membarrier";
  tmk::pool pool(1);
  pool.run([] {
    std::vector<int> run;
    tmk::detail::Worker& self = tmk::detail::this_worker();
    tmk::task_scope oldest, second, third;
    oldest.run([&run] { run.push_back(0); });
    // A thief whose fence an owner overtook leaves this: shared up to split, open below that.
    const std::size_t second_place = self.bottom.load();
    second.run([&run] { run.push_back(1); });
    self.open = second_place;
    self.split.store(self.bottom.load());
    third.run([&run] { run.push_back(2); });
    second.wait();
    third.wait();  // bottom comes down to split only, and below it lies an erased place
    EXPECT_EQ(stolen_from_here(run), (std::vector{1, 2, 0}));
  });
}
TEST(Thief, takes_the_oldest_of_a_scope_which_joins_newest_first) {
  tmk::pool pool(1);
  pool.run([] {
    std::vector<int> run;
    tmk::task_scope scope;
    for (int i = 0; i < 3; ++i) scope.run([&run, i] { run.push_back(i); });
    EXPECT_EQ(stolen_from_here(run), (std::vector{0, 1, 2}));
  });
}

TEST(Thief, that_has_asked_finds_the_next_task_open) {
  if (!tmk::detail::has_membarrier) GTEST_SKIP() << "all is open without membarrier";
  tmk::pool pool(1);
  pool.run([] {
    tmk::detail::Worker& self = tmk::detail::this_worker();
    const auto old = tmk::async([] {});
    EXPECT_FALSE(self.ask());  // there is a task
    old.wait();
    EXPECT_TRUE(self.ask());
    EXPECT_FALSE(self.ask());  // another thief has asked
    const auto first = tmk::async([] {});
    EXPECT_EQ(self.open, self.bottom.load());
    const auto second = tmk::async([] {});
    EXPECT_EQ(self.open + 1, self.bottom.load());
    EXPECT_EQ(self.split.load(), self.open);
  });
}
// A thief would pay more for each small task than the owner.
TEST(Thief, looks_less_and_less_often_for_small_tasks) {
  using std::chrono::nanoseconds;
  using tmk::detail::Restraint;
  Restraint restraint;
  Restraint::Time now;
  const auto run = [&](nanoseconds task) {
    restraint.begin_task(now);
    restraint.end_task(now += task);
  };
  const nanoseconds small = Restraint::kWorth / 2, none{0};
  EXPECT_EQ(restraint.hold(true), none);  // the thief has just begun to ask
  run(small);
  const nanoseconds first = restraint.hold(true);
  EXPECT_GT(first, none);
  EXPECT_EQ(restraint.hold(false), first);          // nothing new
  const nanoseconds second = restraint.hold(true);  // told, and the thief got nothing
  EXPECT_GE(second, 2 * first);
  for (int i = 0; i < 20; ++i) {
    run(small);
    EXPECT_LE(restraint.hold(true), Restraint::kMost);
  }
  EXPECT_EQ(restraint.hold(false), Restraint::kMost);
  run(2 * Restraint::kWorth);
  EXPECT_EQ(restraint.hold(true), none);
}
TEST(Thief, leaves_small_tasks_to_a_thread_that_fetches_each_at_once) {
  constexpr int kTasks = 200'000;
  tmk::pool pool(2);
  pool.run([&] {
    int sum = 0;
    for (int i = 0; i < kTasks; ++i) sum += tmk::async([] { return 1; }).get();
    EXPECT_EQ(sum, kTasks);
    EXPECT_LT(pool.stats().steals, static_cast<std::uint64_t>(kTasks) / 4);
  });
}

class DequeStress : public testing::TestWithParam<unsigned> {
 protected:
  support::Deadline deadline_;
};

// Futures that are given to other threads, which fetch the newest or the oldest.
class Exchange {
 public:
  explicit Exchange(int takers) {
    for (int i = 0; i < takers; ++i) threads_.emplace_back([this] { take(); });
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() {
    ended_ = true;
    for (auto& thread : threads_) thread.join();
  }
  void give(tmk::future<int> future) {
    const std::lock_guard guard(mutex_);
    given_.push_back(std::move(future));
  }

 private:
  tmk::future<int> next() {
    const std::lock_guard guard(mutex_);
    tmk::future<int> result;
    if (given_.empty()) return result;
    if (one_in(2)) {
      result = std::move(given_.front());
      given_.pop_front();
    } else {
      result = std::move(given_.back());
      given_.pop_back();
    }
    return result;
  }
  void take() {
    for (bool last = false; !last;) {
      last = ended_;
      for (auto future = next(); future.valid(); future = next()) future.get();
      std::this_thread::yield();
    }
  }

  std::mutex mutex_;
  std::deque<tmk::future<int>> given_;
  std::atomic<bool> ended_ = false;
  std::vector<std::thread> threads_;
};

// One deque: its owner pushes and takes anywhere, thieves take the oldest, other threads want one
// of them. Sizes change, so that the entries wrap round and move to larger arrays.
TEST_P(DequeStress, each_task_is_run_once_whoever_asks_for_it) {
  constexpr int kTasks = support::sanitized ? 20000 : 100000;
  tmk::pool pool(GetParam());
  std::atomic<int> run = 0;
  int fetched = 0;
  {
    Exchange others(2);
    pool.run([&] {
      std::vector<tmk::future<int>> mine;
      std::size_t most = 8;
      for (int i = 0; i < kTasks; ++i) {
        if (one_in(1000)) most = std::size_t{1} << below(11);
        mine.push_back(tmk::async([&run] {
          ++run;
          return 1;
        }));
        while (mine.size() > most || (i == kTasks - 1 && !mine.empty())) {
          if (one_in(2)) std::swap(mine[below(mine.size())], mine.back());
          if (one_in(4)) {
            others.give(std::move(mine.back()));
            ++fetched;
          } else {
            fetched += mine.back().get();
          }
          mine.pop_back();
        }
      }
    });
  }
  EXPECT_EQ(run, kTasks);
  EXPECT_EQ(fetched, kTasks);
}

// The same for deques of the pool's threads, which take their newest task when one has ended, while
// the blocks of memory go round.
TEST_P(DequeStress, a_thread_pops_what_others_want) {
  constexpr int kRounds = support::sanitized ? 500 : 5000;
  constexpr int kTasks = 16;
  tmk::pool pool(GetParam());
  std::atomic<int> run = 0;
  {
    Exchange others(2);
    pool.run([&] {
      for (int round = 0; round < kRounds; ++round) {
        tmk::async([&] {
          for (int i = 0; i < kTasks; ++i) {
            others.give(tmk::async([&run] {
              ++run;
              return 1;
            }));
          }
        }).wait_for(std::chrono::milliseconds(20));  // so that a thread of the pool runs it
      }
    });
  }
  EXPECT_EQ(run, kRounds * kTasks);
}

// Thieves must find the tasks that an owner pushes after it has taken others back, because no other
// thread asks for them: the owner waits outside of tmk.
TEST_P(DequeStress, no_task_is_hidden_from_thieves) {
  // A pool of one has no thief until the watchdog sees that its thread sleeps.
  const int rounds = GetParam() == 1 ? 50 : support::sanitized ? 500 : 1500;
  tmk::pool pool(GetParam());
  pool.run([&] {
    for (int round = 0; round < rounds; ++round) {
      std::vector<tmk::future<void>> taken(1 + below(8));
      for (auto& each : taken) each = tmk::async([] {});
      while (!taken.empty()) taken.pop_back();
      std::latch ended(3);
      std::vector<tmk::future<void>> left;
      for (int i = 0; i < 3; ++i) left.push_back(tmk::async([&ended] { ended.count_down(); }));
      ended.wait();
    }
  });
}

// New threads take over the workers of ended threads, with the tasks that are left in them.
TEST_P(DequeStress, threads_that_end_leave_their_tasks_to_others) {
  constexpr int kRounds = support::sanitized ? 50 : 200;
  tmk::pool pool(GetParam());
  std::atomic<int> run = 0;
  std::vector<tmk::future<void>> left;
  for (int round = 0; round < kRounds; ++round) {
    std::mutex mutex;
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        const auto start = [&] {
          for (int i = 0; i < 5; ++i) {
            auto task = tmk::async([&run] { ++run; });
            if (i == 2) task.wait();
            const std::lock_guard guard(mutex);
            left.push_back(std::move(task));
          }
        };
        if (t == 0) {
          start();
        } else {
          pool.run(start);
        }
      });
    }
    for (auto& thread : threads) thread.join();
    if (left.size() > 100) left.clear();
  }
  left.clear();
  EXPECT_EQ(run, kRounds * 15);
}

INSTANTIATE_TEST_SUITE_P(OfThreads, DequeStress, testing::Values(1, 2, 3, 8),
                         testing::PrintToStringParamName());

}  // namespace
