// The limits of tmk: deep recursion, wide loops, the processors that it may use, threads that end
// again, and no processor time without tasks.
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <latch>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fake_system.hpp"
#include "support.hpp"
#include "tmk/async.hpp"
#include "tmk/fork_join.hpp"
#include "tmk/pool.hpp"

namespace {

using support::cpu_seconds;
using support::Deadline;
using support::FakeSystem;
using support::resident_kib;

// ---- depth and width ----

// ThreadSanitizer can follow 65,536 calls on one stack.
constexpr int kDeep = support::thread_sanitizer ? 5'000 : support::sanitized ? 50'000 : 1'000'000;

int descend(int n) { return n == 0 ? 0 : tmk::async(descend, n - 1).get() + 1; }
TEST(Depth, a_million_calls_may_wait_for_each_other) {
  const Deadline deadline;
  EXPECT_EQ(tmk::async(descend, kDeep).get(), kDeep);
  tmk::pool one(1);
  EXPECT_EQ(one.run([] { return descend(kDeep); }), kDeep);
}

int descend_twice(int n) {
  if (n == 0) return 0;
  auto a = tmk::async(descend_twice, n - 1);
  auto b = tmk::async([n] { return n; });
  return b.get() - n + a.get() + 1;
}
TEST(Depth, a_deep_call_may_have_other_tasks_beside_it) {
  const Deadline deadline;
  EXPECT_EQ(descend_twice(kDeep / 4), kDeep / 4);
}

int descend_in_scopes(int n) {
  if (n == 0) return 0;
  int result = 0;
  tmk::task_scope scope;
  scope.run([&] { result = descend_in_scopes(n - 1) + 1; });
  scope.wait();
  return result;
}
int fork_down(int n) {
  if (n == 0) return 0;
  const auto [below, one] = tmk::fork_join([n] { return fork_down(n - 1); }, [] { return 1; });
  return below + one;
}
TEST(Depth, scopes_and_forks_may_nest_as_deep) {
  const Deadline deadline;
  EXPECT_EQ(descend_in_scopes(kDeep / 4), kDeep / 4);
  // A fork's first branch is a call, which needs the stack of any call.
  EXPECT_EQ(fork_down(kDeep / 100), kDeep / 100);
}

// Halide 9377, arbor 1583: a thread that waits in a wide loop runs a task, which waits and runs
// another task of the loop, and so on: the stack grows with the width of the loop.
TEST(Width, the_stack_does_not_grow_with_the_width_of_a_loop) {
  const Deadline deadline;
  static thread_local int nested = 0;
  static std::atomic<int> deepest;
  deepest = 0;
  struct Level {
    Level() {
      const int now = ++nested;
      for (int most = deepest; now > most && !deepest.compare_exchange_weak(most, now);) {
      }
    }
    ~Level() { --nested; }
  };
  constexpr int kWidth = support::sanitized ? 2'000 : 100'000;
  std::vector<tmk::future<int>> loop;
  for (int i = 0; i < kWidth; ++i) {
    loop.push_back(tmk::async([i] {
      const Level level;
      std::vector<tmk::future<int>> inner;
      for (int k = 0; k < 3; ++k) {
        inner.push_back(tmk::async([i] {
          const Level innermost;
          return i % 2;
        }));
      }
      int sum = 0;
      for (auto& each : inner) sum += each.get();
      return sum;
    }));
  }
  int sum = 0;
  for (auto& each : loop) sum += each.get();
  EXPECT_EQ(sum, kWidth / 2 * 3);
  EXPECT_LE(deepest, 2);
}

// ---- processors ----

int processors_of(const FakeSystem& system) { return tmk::detail::quota_processors(system.root()); }

// oneTBB 2056: a thread for each processor of the machine, though a container may use only one.
TEST(Processors, a_quota_of_version_2_is_rounded_up) {
  for (const auto& [text, expected] : {std::pair{"50000 100000", 1},
                                       {"100000 100000", 1},
                                       {"150000 100000", 2},
                                       {"400000 100000", 4},
                                       {"1000 1000000", 1},
                                       {"max 100000", INT_MAX},
                                       {"9223372036854775807 1000", INT_MAX}}) {
    FakeSystem system;
    system.with("proc/self/cgroup", "0::/").with("sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(processors_of(system), expected) << text;
  }
}

TEST(Processors, a_quota_of_version_1_is_rounded_up) {
  for (const auto& [quota, expected] :
       {std::pair{"50000", 1}, {"100000", 1}, {"100001", 2}, {"800000", 8}, {"-1", INT_MAX}}) {
    FakeSystem system;
    system.with("proc/self/cgroup", "3:cpuset:/\n2:cpu,cpuacct:/job\n1:name=systemd:/")
        .with("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", quota)
        .with("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000");
    EXPECT_EQ(processors_of(system), expected) << quota;
  }
}

TEST(Processors, the_least_quota_on_the_way_to_the_root_holds) {
  FakeSystem system;
  system.with("proc/self/cgroup", "0::/slice/job/step")
      .with("sys/fs/cgroup/slice/cpu.max", "300000 100000")
      .with("sys/fs/cgroup/slice/job/cpu.max", "200000 100000")
      .with("sys/fs/cgroup/slice/job/step/cpu.max", "max 100000");
  EXPECT_EQ(processors_of(system), 2);
}

// In a container the path is that of the host, and the group itself is at the mount of the root.
TEST(Processors, a_container_finds_its_quota_at_the_mount) {
  FakeSystem system;
  system.with("proc/self/cgroup", "4:cpu,cpuacct:/docker/0123456789abcdef")
      .with("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000")
      .with("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000");
  EXPECT_EQ(processors_of(system), 1);
}

TEST(Processors, unreadable_files_mean_no_quota) {
  EXPECT_EQ(processors_of(FakeSystem()), INT_MAX);
  for (const char* groups :
       {"", "nonsense", "0:", "0::", "0::relative/path", "::::", "0::/\n0::/"}) {
    for (const char* text : {"", "x", "x y", "100000", "100000 0", "-5 100000", "nan nan"}) {
      FakeSystem system;
      system.with("proc/self/cgroup", groups).with("sys/fs/cgroup/cpu.max", text);
      EXPECT_EQ(processors_of(system), INT_MAX) << groups << " and " << text;
    }
  }
}

// Sets a variable of the environment, and restores it at the end.
class Setting {
 public:
  explicit Setting(const char* value, const char* name = "TMK_NUM_THREADS")
      : name_(name), before_(std::getenv(name) == nullptr ? "" : std::getenv(name)) {
    setenv(name, value, 1);
  }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;
  ~Setting() { before_.empty() ? unsetenv(name_) : setenv(name_, before_.c_str(), 1); }

 private:
  const char* name_;
  std::string before_;
};

TEST(Processors, the_environment_decides_if_it_says_a_number) {
  for (const auto& [text, expected] : {std::pair{"1", 1u}, {"3", 3u}, {"4096", 4096u}}) {
    const Setting setting(text);
    EXPECT_EQ(tmk::detail::usable_processors(), expected);
    EXPECT_EQ(tmk::pool().size(), expected);
  }
}
TEST(Processors, the_environment_is_ignored_if_it_says_nonsense) {
  unsigned usual = 0;
  {
    const Setting setting("");
    usual = tmk::detail::usable_processors();
  }
  for (const char* text :
       {"0", "-1", "4097", "99999999999999999999", "two", "2x", "2 3", "0x10", " "}) {
    const Setting setting(text);
    EXPECT_EQ(tmk::detail::usable_processors(), usual) << text;
  }
}
TEST(Processors, the_affinity_mask_is_a_limit) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  const Setting setting("");
  EXPECT_LE(tmk::detail::usable_processors(), static_cast<unsigned>(CPU_COUNT(&before)));
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(tmk::detail::usable_processors(), 1u);
  sched_setaffinity(0, sizeof before, &before);
}

// ---- where a woken thread begins ----

cpu_set_t allowed_here() {
  cpu_set_t set;
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  return set;
}
// Wakes the pool a few times. Returns how often the task began on another processor than this
// thread's, or -1 if a thread of the pool was left with other processors than this thread has.
int begins_elsewhere(int times) {
  const cpu_set_t allowed = allowed_here();
  tmk::pool pool(2);
  int elsewhere = 0;
  pool.run([&] {
    tmk::async([] {}).wait();
    for (int i = 0; i < times && elsewhere >= 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));  // until the pool sleeps
      std::atomic<int> began = -1;
      std::atomic<bool> same = false;
      const int here = sched_getcpu();
      const auto task = tmk::async([&] {
        began = sched_getcpu();
        // The waker gives the processor back when it has made its call.
        for (int looks = 0; looks < 1000 && !same; ++looks) {
          const cpu_set_t now = allowed_here();
          same = CPU_EQUAL(&now, &allowed) != 0;
          std::this_thread::yield();
        }
      });
      while (began < 0) {
      }
      task.wait();
      elsewhere = !same ? -1 : elsewhere + (began != here ? 1 : 0);
    }
  });
  return elsewhere;
}
TEST(Waking, a_woken_thread_begins_beside_its_waker_and_keeps_its_processors) {
  const cpu_set_t allowed = allowed_here();
  const int elsewhere = begins_elsewhere(20);
  EXPECT_GE(elsewhere, CPU_COUNT(&allowed) > 1 ? 10 : 0);  // the kernel may move both
}
TEST(Waking, the_environment_leaves_it_to_the_kernel) {
  const Setting off("0", "TMK_AFFINITY");
  EXPECT_FALSE(tmk::detail::keeps_woken_threads_away());
  EXPECT_GE(begins_elsewhere(3), 0);
}

// ---- threads and memory without work ----

std::size_t count_threads() {
  const std::filesystem::directory_iterator all("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST(Idle, threads_of_a_burst_go_away) {
  const Deadline deadline;
  const std::size_t before = count_threads();
  tmk::pool pool(2);
  std::vector<tmk::future<void>> tasks;
  tmk::promise<void> promise;
  const auto all = promise.get_future().share();
  std::atomic<int> begun = 0;
  pool.run([&] {
    for (int i = 0; i < 200; ++i) {
      tasks.push_back(tmk::async([&begun, all] {
        ++begun;
        all.wait();
      }));
    }
  });
  while (begun < 200) std::this_thread::yield();
  EXPECT_GE(count_threads(), 200);  // threads of earlier tests may end meanwhile
  promise.set_value();
  tasks.clear();
  while (count_threads() > before + 20) std::this_thread::yield();  // or the deadline passes
}

// docs/runtime.md gives the memory that stays for each of the most threads that ever were at once.
TEST(Idle, as_many_threads_again_need_no_more_memory) {
  if (support::sanitized) GTEST_SKIP() << "the memory is the sanitizer's";
  const Deadline deadline;
  constexpr int kThreads = 500;
  const auto burst = [] {
    std::latch all(kThreads);
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        EXPECT_EQ(tmk::async([] { return 1; }).get(), 1);
        all.arrive_and_wait();
      });
    }
    for (auto& each : threads) each.join();
  };
  const long before = resident_kib();
  burst();
  const long first = resident_kib() - before;
  EXPECT_LT(first, 64L * kThreads);
  burst();
  EXPECT_LT(resident_kib() - before - first, 8L * kThreads);
}

TEST(Idle, no_processor_time_is_used_when_there_are_no_tasks) {
  if (support::sanitized) GTEST_SKIP() << "a sanitizer's own threads use some";
  const Deadline deadline;
  tmk::pool pool(4);
  const auto work = [] {
    std::vector<tmk::future<int>> tasks;
    for (int i = 0; i < 1000; ++i) tasks.push_back(tmk::async([i] { return descend(i % 10); }));
    for (auto& task : tasks) task.get();
  };
  for (int round = 0; round < 3; ++round) {
    work();
    pool.run(work);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const double before = cpu_seconds();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_LT(cpu_seconds() - before, 0.002) << "in round " << round;
  }
}

// A task that runs for long, or sleeps, does not keep any thread awake either.
TEST(Idle, nobody_spins_beside_a_task_that_sleeps) {
  if (support::sanitized) GTEST_SKIP() << "a sanitizer's own threads use some";
  const Deadline deadline;
  tmk::pool pool(4);
  pool.run([] {
    auto sleeper = tmk::async([] { std::this_thread::sleep_for(std::chrono::milliseconds(220)); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const double before = cpu_seconds();
    sleeper.wait();
    EXPECT_LT(cpu_seconds() - before, 0.004);
  });
}

// ---- counts ----

TEST(Statistics, a_pool_counts_what_is_its_own) {
  for (int round = 0; round < 2; ++round) {
    tmk::pool pool(1);
    EXPECT_EQ(pool.stats().tasks, 0u);
    pool.run([] {
      std::vector<tmk::future<int>> tasks;
      for (int i = 0; i < 1000; ++i) tasks.push_back(tmk::async([] { return 1; }));
      for (auto& task : tasks) task.get();
    });
    const tmk::statistics counted = pool.stats();
    EXPECT_EQ(counted.tasks, 1000u);
    EXPECT_EQ(counted.steals + counted.inline_claims, 1000u);
  }
}

}  // namespace
