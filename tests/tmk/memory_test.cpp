// Memory of finished tasks goes back to the system if the pool is idle for long, whichever threads
// made and ended them. Memory in use stays as it is, and the next burst finds memory again.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "support.hpp"
#include "tmk/async.hpp"
#include "tmk/detail/surplus.hpp"
#include "tmk/fork_join.hpp"
#include "tmk/pool.hpp"

namespace {

using std::chrono::milliseconds;
using support::Deadline;
using support::resident_kib;

constexpr int kTasks = support::sanitized ? 20'000 : 200'000;
// A task has 256 bytes; all tasks together have many times the memory that a thread keeps.
constexpr long kBurstKib = kTasks / 4;
constexpr long kKeptKib = 14 * 1024;  // the slabs of two threads, the deque, and some more

using Futures = std::vector<tmk::future<long>>;
Futures make_tasks() {
  Futures tasks;
  tasks.reserve(kTasks);
  for (long i = 0; i < kTasks; ++i) {
    tasks.push_back(tmk::async([i, numbers = std::array<long, 20>{i}] { return i + numbers[0]; }));
  }
  return tasks;
}
constexpr long kSum = long{kTasks} * (kTasks - 1);
long sum_of(Futures tasks) {
  long sum = 0;
  for (auto& each : tasks) sum += each.get();
  return sum;
}
// Waits until the memory in use is at most `kib`; false if it stays above that for long.
bool falls_to(long kib) {
  for (int looks = 0; resident_kib() > kib; ++looks) {
    if (looks == 1'000) return false;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return true;
}

TEST(Memory, it_goes_back_when_the_pool_is_idle_and_the_next_burst_works) {
  const Deadline deadline;
  const long before = resident_kib();
  for (int round = 0; round < 3; ++round) {
    auto tasks = make_tasks();
    const long full = resident_kib();
    EXPECT_EQ(sum_of(std::move(tasks)), kSum);
    if (support::sanitized) {
      std::this_thread::sleep_for(milliseconds(400));  // the memory in use is that of the sanitizer
      continue;
    }
    EXPECT_GT(full, before + kBurstKib);
    EXPECT_TRUE(falls_to(before + kKeptKib)) << before << ' ' << full << ' ' << resident_kib();
  }
}

TEST(Memory, a_short_pause_costs_nothing) {
  if (support::sanitized) GTEST_SKIP() << "the memory in use is the sanitizer's";
  const Deadline deadline;
  EXPECT_EQ(sum_of(make_tasks()), kSum);
  const long full = resident_kib();
  const auto begun = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(milliseconds(50));
  if (std::chrono::steady_clock::now() - begun < milliseconds(150)) {
    EXPECT_GT(resident_kib(), full - kBurstKib / 2);
  }
}

TEST(Memory, what_is_in_use_stays_and_goes_back_later) {
  const Deadline deadline;
  const long before = resident_kib();
  auto tasks = make_tasks();
  for (auto& each : tasks) each.wait();
  Futures kept;
  for (std::size_t i = 0; i < tasks.size(); i += 1'000) kept.push_back(std::move(tasks[i]));
  tasks.clear();
  if (support::sanitized) {
    std::this_thread::sleep_for(milliseconds(400));
  } else {
    EXPECT_TRUE(falls_to(before + kBurstKib / 2)) << before << ' ' << resident_kib();
  }
  for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(kept[i].get(), 2'000 * long(i));
  // No thread has made a task since.
  if (!support::sanitized) {
    EXPECT_TRUE(falls_to(before + kKeptKib)) << before << ' ' << resident_kib();
  }
}

TEST(Memory, it_goes_back_at_the_end_of_a_pool) {
  if (support::sanitized) GTEST_SKIP() << "the memory in use is the sanitizer's";
  const Deadline deadline;
  const long before = resident_kib();
  {
    tmk::pool pool(2);
    EXPECT_EQ(pool.run([] { return sum_of(make_tasks()); }), kSum);
  }
  EXPECT_LT(resident_kib(), before + kKeptKib);
}

// Futures that outlive their pool give their memory to a worker that no pool has.
TEST(Memory, a_future_may_outlive_the_pool_that_gives_it_back) {
  const Deadline deadline;
  Futures kept;
  {
    tmk::pool pool(2);
    pool.run([&] {
      auto tasks = make_tasks();
      for (auto& each : tasks) each.wait();
      for (std::size_t i = 0; i < tasks.size(); i += 7) kept.push_back(std::move(tasks[i]));
    });
  }
  EXPECT_EQ(sum_of(make_tasks()), kSum);
  for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(kept[i].get(), 14 * long(i));
}

TEST(Memory, a_forked_child_has_bursts_of_its_own) {
  if (support::thread_sanitizer) GTEST_SKIP() << "a forked child may start no threads there";
  const Deadline deadline;
  for (int pause_ms : {0, 240, 250, 260}) {
    EXPECT_EQ(sum_of(make_tasks()), kSum);
    auto tasks = make_tasks();
    for (auto& each : tasks)
      each.wait();  // a task that another thread runs would not end in the child
    std::this_thread::sleep_for(milliseconds(pause_ms));
    EXPECT_EQ(support::in_child([&] {
                bool right = sum_of(make_tasks()) == kSum;
                for (std::size_t i = 0; i < tasks.size(); i += 10) {
                  right = right && tasks[i].get() == 2 * long(i);
                }
                return right && sum_of(make_tasks()) == kSum;
              }),
              0);
  }
}

// One thread takes blocks, another ends them, and a third looks through them at once.
TEST(Memory, a_slab_is_given_back_only_if_nobody_has_a_block_of_it) {
  const Deadline deadline;
  using tmk::detail::Surplus;
  using tmk::detail::Task;
  static auto* const surplus = new Surplus;  // slabs refer to it for ever
  struct Note {                              // behind the head of a block of two units
    std::uint64_t number, same;
  };
  const auto note_in = [](Task* block) { return reinterpret_cast<Note*>(block + 1); };
  const auto end = [](Task* block) {
    tmk::detail::slab_of(*block).home->blocks.give_back(*block, 1);
  };
  std::mutex mutex;
  std::vector<Task*> handed;
  std::atomic<bool> over = false;
  std::atomic<std::uint64_t> wrong = 0;
  std::thread ender([&] {
    for (std::vector<Task*> mine; !over || !mine.empty();) {
      mine.clear();
      {
        const std::lock_guard guard(mutex);
        mine.swap(handed);
      }
      for (Task* block : mine) {
        const Note* const note = note_in(block);
        if (note->number != note->same || note->number == 0) ++wrong;
        end(block);
      }
    }
  });
  std::thread looker([&] {
    while (!over) surplus->give_pages_back();
  });
  std::vector<Task*> own;
  std::uint64_t number = 0;
  for (int round = 0; round < (support::sanitized ? 300 : 3'000); ++round) {
    for (Task* each = surplus->take(1); each != nullptr;) {
      Task* const next = tmk::detail::next_free(*each);
      ++number;
      ::new (note_in(each)) Note{number, number};
      own.push_back(each);
      each = next;
    }
    while (own.size() > 5'000) {
      for (int i = 0; i < 500; ++i) {
        std::swap(own[support::below(own.size())], own.back());
        Task* const block = own.back();
        own.pop_back();
        const Note* const note = note_in(block);
        if (note->number != note->same) ++wrong;
        if (i % 2 == 0) {
          end(block);
        } else {
          const std::lock_guard guard(mutex);
          handed.push_back(block);
        }
      }
    }
  }
  over = true;
  ender.join();
  looker.join();
  EXPECT_EQ(wrong, 0u);
  for (const auto* rest : {&own, &handed}) {
    for (Task* each : *rest) end(each);
  }
  surplus->give_pages_back();
  EXPECT_FALSE(surplus->has_pages());
}

}  // namespace
