// A program that ends with one thread for each task ends with tmk: tasks that no thread fetches,
// tasks that wait for each other unknown to the runtime, and tasks that need much stack.
#define TMK_ASSERTIONS

#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "support.hpp"
#include "tmk/async.hpp"
#include "tmk/fork_join.hpp"
#include "tmk/pool.hpp"

namespace {

using std::chrono_literals::operator""ms;
using support::Deadline;
using Clock = std::chrono::steady_clock;

// ---- a pending task that no thread fetches ----

class Starving : public testing::TestWithParam<unsigned> {};

// The maker keeps `width` small tasks pending, and fetches the oldest. `first`, if there is one, is
// pending before them, made by the same call: a thief takes the newest of such siblings.
void slide_a_window(std::size_t width, const std::atomic<bool>& until,
                    const std::function<void()>& first = nullptr) {
  tmk::future<void> starved;
  if (first) starved = tmk::async(first);
  std::deque<tmk::future<int>> window;
  while (!until) {
    window.push_back(tmk::async([] { return 1; }));
    if (window.size() > width) {
      window.front().get();
      window.pop_front();
    }
  }
}

TEST_P(Starving, a_task_behind_a_window_of_small_tasks_is_run) {
  const Deadline deadline;
  for (const std::size_t width : {std::size_t{0}, std::size_t{1}, std::size_t{20}}) {
    tmk::pool pool(GetParam());
    pool.run([&] {
      std::atomic<bool> ran = false;
      std::vector<tmk::future<void>> busy;
      for (unsigned i = 1; i < GetParam(); ++i) {
        busy.push_back(tmk::async([&] { slide_a_window(width, ran); }));
      }
      std::this_thread::sleep_for(20ms);  // until all threads run such tasks
      auto starved = tmk::async([&] { ran = true; });
      slide_a_window(width, ran);
    });
  }
}

// A pool's thread always finds a newer task of its own.
void respawn(const std::atomic<bool>& until, tmk::promise<void>& ended) {
  if (until) return ended.set_value();
  auto next = tmk::async([&] { respawn(until, ended); });
  static std::mutex mutex;
  const std::lock_guard guard(mutex);
  static std::deque<tmk::future<void>> kept;
  kept.push_back(std::move(next));
  while (kept.size() > 100 && kept.front().wait_for(0ms) == tmk::future_status::ready) {
    kept.pop_front();
  }
}
TEST(Starvation, a_task_beneath_tasks_that_make_their_successors_is_run) {
  const Deadline deadline;
  tmk::pool pool(1);
  std::atomic<bool> ran = false;
  tmk::promise<void> ended;
  pool.run([&] {
    auto first = tmk::async([&] {
      auto starved = std::make_unique<tmk::future<void>>(tmk::async([&] { ran = true; }));
      respawn(ran, ended);
      return starved;
    });
    ended.get_future().wait();
    EXPECT_TRUE(ran);
  });
}
// More threads of the program run small tasks than the pool may have.
TEST(Starvation, a_task_is_run_beside_threads_of_the_program_that_are_never_done) {
  const Deadline deadline;
  tmk::pool pool(1);
  std::atomic<bool> ran = false;
  std::vector<std::thread> busy;
  for (int i = 0; i < 3; ++i) {
    busy.emplace_back([&] { pool.run([&] { slide_a_window(3, ran); }); });
  }
  pool.run([&] {
    std::this_thread::sleep_for(20ms);
    auto starved = tmk::async([&] { ran = true; });
    slide_a_window(3, ran);
  });
  for (auto& each : busy) each.join();
}
INSTANTIATE_TEST_SUITE_P(OfThreads, Starving, testing::Values(1, 2, 3));

TEST_P(Starving, a_task_behind_newer_siblings_is_run) {
  const Deadline deadline;
  tmk::pool pool(GetParam());
  pool.run([&] {
    std::atomic<bool> ran = false;
    slide_a_window(200, ran, [&] { ran = true; });
  });
}

// Thieves take siblings newest first, so the oldest is pending for long, but needs no more threads.
TEST(Starvation, the_oldest_of_many_tasks_is_run_by_a_thread_that_is_there) {
  if (support::sanitized) GTEST_SKIP() << "times are those of the sanitizer";
  const Deadline deadline;
  tmk::pool pool(2);
  pool.run([] {
    constexpr int kTasks = 1000;
    std::atomic<int> left = kTasks;
    std::vector<tmk::future<void>> tasks;
    for (int i = 0; i < kTasks; ++i) {
      tasks.push_back(tmk::async([&] {
        const auto begun = Clock::now();
        while (Clock::now() - begun < 2ms) {
        }
        --left;
      }));
    }
    while (left != 0) std::this_thread::sleep_for(5ms);
  });
  EXPECT_LE(pool.stats().threads_added, 3u);  // one of them for the thread that sleeps here
}

long count_leaves(int depth) {
  if (depth == 0) return 1;
  const auto [left, right] = tmk::fork_join([=] { return count_leaves(depth - 1); },
                                            [=] { return count_leaves(depth - 1); });
  return left + right;
}
// No counter has the branches that their own thread runs, but they are progress.
TEST(Starvation, a_thread_that_forks_and_joins_is_not_taken_for_one_that_spins) {
  if (support::sanitized) GTEST_SKIP() << "times are those of the sanitizer";
  tmk::pool pool(1);
  pool.run([] {
    for (const auto begun = Clock::now(); Clock::now() - begun < 500ms;) {
      EXPECT_EQ(count_leaves(12), 4096);
    }
  });
  EXPECT_EQ(pool.stats().threads_added, 0u);
}

TEST(Window, the_places_that_it_leaves_behind_are_used_again) {
  tmk::pool pool(1);
  pool.run([] {
    tmk::detail::Worker& worker = tmk::detail::this_worker();
    auto old = tmk::async([] { return 1; });
    std::deque<tmk::future<int>> window;
    int sum = 0;
    for (int i = 0; i < 100'000; ++i) {
      window.push_back(tmk::async([i] { return i % 2; }));
      if (window.size() < 50) continue;
      sum += window.front().get();
      window.pop_front();
    }
    EXPECT_LE(worker.mask + 1, 1024u);
    for (auto& each : window) sum += each.get();
    EXPECT_EQ(sum, 50'000);
    EXPECT_EQ(old.get(), 1);
  });
}

// ---- tasks that wait for each other ----

constexpr int kMany = support::sanitized ? 200 : 1'500;

TEST(Meeting, more_tasks_than_any_number_of_threads_meet_at_a_latch) {
  const Deadline deadline;
  std::latch all(kMany);
  std::vector<tmk::future<void>> tasks;
  for (int i = 0; i < kMany; ++i) tasks.push_back(tmk::async([&] { all.arrive_and_wait(); }));
  for (auto& each : tasks) each.get();
}

TEST(Meeting, tasks_meet_by_polling) {
  const Deadline deadline;
  for (const bool sleeping : {true, false}) {
    const int many = support::sanitized ? 20 : 100;
    std::atomic<int> met = 0;
    std::vector<tmk::future<void>> tasks;
    const auto begun = Clock::now();
    for (int i = 0; i < many; ++i) {
      tasks.push_back(tmk::async([&, sleeping] {
        ++met;
        while (met < many) {
          if (sleeping) {
            std::this_thread::sleep_for(1ms);
          } else {
            std::this_thread::yield();
          }
        }
      }));
    }
    for (auto& each : tasks) each.get();
    EXPECT_LT(Clock::now() - begun, support::sanitized ? 30'000ms : 5'000ms);
  }
}

TEST(Meeting, tasks_meet_by_spinning) {
  const Deadline deadline;
  constexpr int kSpinners = 5;
  std::atomic<int> met = 0;
  std::vector<tmk::future<void>> tasks;
  for (int i = 0; i < kSpinners; ++i) {
    tasks.push_back(tmk::async([&] {
      ++met;
      while (met < kSpinners) {
      }
    }));
  }
  for (auto& each : tasks) each.get();
}

// ---- a thread that waits for a task runs others that must end before it ----

// Calls both, and returns whether the thread that joins `outer` ran `inner`, while another thread
// ran `outer`. `fork(a, b)` calls both and may run b on another thread.
template <class F>
bool joiner_runs_inner(const F& fork) {
  const auto joiner = std::this_thread::get_id();
  std::atomic<bool> elsewhere = false, begun = false, ran = false, helped = false;
  fork(
      [&] {
        for (const auto end = Clock::now() + 20ms; !begun && Clock::now() < end;)
          std::this_thread::yield();
      },
      [&] {
        elsewhere = std::this_thread::get_id() != joiner;
        fork(
            [&] {
              begun = true;
              for (const auto end = Clock::now() + 20ms; !ran && Clock::now() < end;)
                std::this_thread::yield();
            },
            [&] {
              helped = std::this_thread::get_id() == joiner;
              ran = true;
            });
      });
  return elsewhere && helped;
}
constexpr auto kForkJoin = [](const auto& a, const auto& b) { tmk::fork_join(a, b); };
constexpr auto kScope = [](const auto& a, const auto& b) {
  tmk::task_scope scope;
  scope.run(b);
  a();
};
constexpr auto kScopeOnTheHeap = [](const auto& a, const auto& b) {
  const auto scope = std::make_unique<tmk::task_scope>();
  scope->run(b);
  a();
};
constexpr auto kFutures = [](const auto& a, const auto& b) {
  const auto future = tmk::async(b);
  a();
};
template <class F>
int times_that_joiner_runs_inner(const F& fork) {
  tmk::pool pool(2);
  return pool.run([&] {
    int times = 0;
    for (int i = 0; i < 200; ++i) times += joiner_runs_inner(fork) ? 1 : 0;
    return times;
  });
}

TEST(Helping, a_thread_runs_branches_and_tasks_of_scopes_that_it_waits_for_anyway) {
  if (support::sanitized) GTEST_SKIP() << "AddressSanitizer may put locals on a stack of its own";
  const Deadline deadline;
  EXPECT_GT(times_that_joiner_runs_inner(kForkJoin), 0);
  EXPECT_GT(times_that_joiner_runs_inner(kScope), 0);
}

TEST(Helping, a_thread_runs_nothing_that_may_outlive_the_task_that_it_waits_for) {
  const Deadline deadline;
  EXPECT_EQ(times_that_joiner_runs_inner(kScopeOnTheHeap), 0);
  EXPECT_EQ(times_that_joiner_runs_inner(kFutures), 0);
}

// A scope of an outer call may have tasks that need a lock which the waiter holds.
TEST(Helping, a_thread_runs_no_task_of_a_scope_that_goes_on) {
  const Deadline deadline;
  tmk::pool pool(2);
  pool.run([&] {
    for (int i = 0; i < 200; ++i) {
      std::mutex mutex;
      tmk::task_scope outer;
      const std::unique_lock lock(mutex);
      tmk::fork_join([] { std::this_thread::yield(); },
                     [&] { outer.run([&] { const std::lock_guard waits(mutex); }); });
    }
  });
}

// Threads of the program that have used tmk and sleep now do not count as running for long.
TEST(Meeting, a_task_begins_at_once_beside_threads_that_sleep) {
  if (support::sanitized) GTEST_SKIP() << "times are those of the sanitizer";
  const Deadline deadline;
  EXPECT_EQ(support::in_child([] {
              setenv("TMK_NUM_THREADS", "2", 1);
              std::latch used(5), ended(1);
              std::vector<std::thread> sleepers;
              for (int i = 0; i < 4; ++i) {
                sleepers.emplace_back([&] {
                  tmk::async([] {}).get();
                  used.arrive_and_wait();
                  ended.wait();
                });
              }
              used.arrive_and_wait();
              auto fastest = Clock::duration::max();
              for (int i = 0; i < 30; ++i) {
                std::this_thread::sleep_for(10ms);
                std::atomic<bool> ran = false;
                const auto begun = Clock::now();
                auto task = tmk::async([&] { ran = true; });
                while (!ran) {
                }
                fastest = std::min(fastest, Clock::now() - begun);
              }
              ended.count_down();
              for (auto& each : sleepers) each.join();
              return fastest < 1ms;
            }),
            0);
}

// ---- stack ----

// Touches `Bytes` bytes of its stack, and calls `then`.
template <std::size_t Bytes, class F>
[[gnu::noinline]] int with_stack(const F& then) {
  std::array<char, Bytes> local;
  for (std::size_t i = 0; i < Bytes; i += 1024) local[i] = 1;
  asm volatile("" : : "r"(local.data()) : "memory");
  const int result = then();
  return result + local[Bytes - 1024] - 1;
}
constexpr std::size_t kMiB = std::size_t{1} << 20;

int descend(int depth) {
  return with_stack<kMiB>(
      [depth] { return depth == 1 ? 1 : tmk::async(descend, depth - 1).get() + 1; });
}
int need_three() {
  return with_stack<3 * kMiB>([] { return 1; });
}
TEST(Stack, tasks_with_large_frames_may_wait_for_each_other) {
  const Deadline deadline;
  EXPECT_EQ(descend(30), 30);
  EXPECT_EQ(tmk::async(descend, 30).get(), 30);
}

TEST(Stack, a_thread_with_a_small_stack_may_fetch_a_task_that_needs_more) {
  const Deadline deadline;
  for (const std::size_t size : {std::size_t{128} << 10, std::size_t{256} << 10, kMiB}) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    // A sanitizer needs some of the stack for itself.
    pthread_attr_setstacksize(&attributes, support::sanitized ? 2 * kMiB : size);
    pthread_t thread;
    const auto body = [](void*) -> void* {
      const int sum = tmk::async(need_three).get() + tmk::async(need_three).share().get();
      return reinterpret_cast<void*>(static_cast<std::intptr_t>(sum));
    };
    ASSERT_EQ(pthread_create(&thread, &attributes, body, nullptr), 0);
    void* sum = nullptr;
    ASSERT_EQ(pthread_join(thread, &sum), 0);
    EXPECT_EQ(reinterpret_cast<std::intptr_t>(sum), 2) << size;
  }
}

}  // namespace
