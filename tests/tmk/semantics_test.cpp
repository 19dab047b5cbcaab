// The guarantees for a program with one thread per task, each with the runtime that failed: no
// wait adds an edge that such a program would not have. Run with pools of one, two and five.
#include <gtest/gtest.h>
#include <locale.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <barrier>
#include <cfenv>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <latch>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <ratio>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "support.hpp"
#include "tmk/async.hpp"
#include "tmk/fork_join.hpp"
#include "tmk/pool.hpp"
#include "tmk/promise.hpp"
#include "tmk/when_all.hpp"

namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

void spin_until(const std::atomic<bool>& flag) {
  while (!flag) std::this_thread::yield();
}

class Semantics : public testing::TestWithParam<unsigned> {
 protected:
  support::Deadline deadline_;
  tmk::pool pool_{GetParam()};
};

// A mutex that reports when its holder comes back for it; a real mutex would hang.
class Tattling {
 public:
  bool hold(const auto& body) {
    if (holder_ == std::this_thread::get_id()) return false;
    const std::lock_guard guard(mutex_);
    holder_ = std::this_thread::get_id();
    body();
    holder_ = std::thread::id();
    return true;
  }

 private:
  std::mutex mutex_;
  std::atomic<std::thread::id> holder_;
};

// rayon 592, TileDB 1994: a thread that held a lock and waited ran a task, which wanted the lock.
TEST_P(Semantics, a_lock_held_over_a_wait_meets_no_other_task) {
  pool_.run([] {
    for (int round = 0; round < 10; ++round) {
      Tattling mutex;
      std::atomic<bool> runs = false, waits = false;
      std::atomic<int> met = 0;
      auto slow = tmk::async([&] {
        runs = true;
        spin_until(waits);
        std::this_thread::sleep_for(1ms);
      });
      spin_until(runs);
      std::vector<tmk::future<void>> others(8);
      for (auto& other : others) {
        other = tmk::async([&] {
          if (!mutex.hold([] {})) ++met;
        });
      }
      auto pending = tmk::async([] { return 1; });
      mutex.hold([&] {
        waits = true;
        slow.get();     // it runs elsewhere
        pending.get();  // in place, with the others around it
      });
      for (auto& other : others) other.get();
      EXPECT_EQ(met, 0);
    }
  });
}

// stlab 397: b waits for c and meanwhile runs a, which waits for b: no lock is needed to hang.
TEST_P(Semantics, a_wait_is_not_buried_under_a_task_that_waits_for_its_waiter) {
  pool_.run([] {
    for (int round = 0; round < 10; ++round) {
      std::atomic<bool> c_runs = false, b_runs = false;
      auto c = tmk::async([&] {
        c_runs = true;
        spin_until(b_runs);
        std::this_thread::sleep_for(1ms);
      });
      spin_until(c_runs);
      tmk::promise<void> b_done;
      auto b = tmk::async([&, all = tmk::shared_future<void>(b_done.get_future())] {
        auto a = tmk::async([all] { all.wait(); });
        b_runs = true;
        c.get();
        b_done.set_value();
        a.get();
      });
      b.get();
    }
  });
}

// Taskflow 575: all workers wait for tasks that are queued behind them.
TEST_P(Semantics, waiting_threads_are_replaced_while_tasks_are_queued) {
  pool_.run([] {
    constexpr std::size_t kTasks = 12;
    std::array<tmk::promise<std::size_t>, kTasks> promises;
    std::vector<tmk::future<std::size_t>> waiting;
    std::vector<tmk::future<void>> queued;
    for (std::size_t i = 0; i < kTasks; ++i) {
      waiting.push_back(tmk::async([&, i] { return promises[i].get_future().get(); }));
    }
    for (std::size_t i = 0; i < kTasks; ++i) {
      queued.push_back(tmk::async([&, i] { promises[i].set_value(i); }));
    }
    for (std::size_t i = 0; i < kTasks; ++i) EXPECT_EQ(waiting[i].get(), i);
  });
}

TEST_P(Semantics, tasks_that_meet_at_a_barrier_all_get_threads) {
  pool_.run([] {
    constexpr int kTasks = 12;
    std::barrier barrier(kTasks);
    std::vector<tmk::future<void>> tasks;
    for (int i = 0; i < kTasks; ++i) {
      tasks.push_back(tmk::async([&] {
        for (int round = 0; round < 3; ++round) barrier.arrive_and_wait();
      }));
    }
    for (auto& task : tasks) task.get();
  });
}

TEST_P(Semantics, a_condition_variable_may_be_what_tasks_wait_for) {
  pool_.run([] {
    std::mutex mutex;
    std::condition_variable changed;
    int turn = 0;
    std::vector<tmk::future<void>> tasks;
    for (int i = 11; i >= 0; --i) {  // the last task made goes first
      tasks.push_back(tmk::async([&, i] {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return turn == i; });
        ++turn;
        changed.notify_all();
      }));
    }
    for (auto& task : tasks) task.get();
    EXPECT_EQ(turn, 12);
  });
}

// A task runs even if no thread waits for it through tmk.
TEST_P(Semantics, a_task_runs_though_its_maker_waits_elsewhere) {
  pool_.run([] {
    std::latch done(4);
    std::vector<tmk::future<void>> tasks;
    for (int i = 0; i < 4; ++i) tasks.push_back(tmk::async([&] { done.count_down(); }));
    done.wait();
  });
}

// llvm 125433: the destructor of the last future releases a task that still runs.
TEST_P(Semantics, the_last_future_of_a_task_waits_for_its_end) {
  pool_.run([] {
    const auto slow = [](std::atomic<bool>& ended) {
      std::this_thread::sleep_for(1ms);
      ended = true;
    };
    for (int round = 0; round < 5; ++round) {
      std::array<std::atomic<bool>, 5> ended{};
      {
        auto dropped = tmk::async(slow, std::ref(ended[0]));
      }
      EXPECT_TRUE(ended[0]);
      auto assigned = tmk::async(slow, std::ref(ended[1]));
      assigned = tmk::future<void>();
      EXPECT_TRUE(ended[1]);
      {
        auto first = tmk::async(slow, std::ref(ended[2])).share();
        const auto second = first;
        first = {};
      }
      EXPECT_TRUE(ended[2]);
      try {
        auto unwound = tmk::async(slow, std::ref(ended[3]));
        throw std::runtime_error("expected");
      } catch (const std::runtime_error&) {
        EXPECT_TRUE(ended[3]);
      }
      auto shared = tmk::async(slow, std::ref(ended[4])).share();
      std::vector<std::thread> owners;
      for (int i = 0; i < 3; ++i) {
        owners.emplace_back([copy = shared]() mutable { copy = {}; });
      }
      shared = {};
      for (auto& owner : owners) owner.join();
      EXPECT_TRUE(ended[4]);
    }
  });
}

// oneTBB 1684, 2156: one thread starts a task, another waits for it, and no wake-up is lost.
TEST_P(Semantics, one_thread_may_start_what_another_one_waits_for) {
  constexpr int kRounds = support::sanitized ? 1000 : 10000;
  std::array<tmk::promise<tmk::future<int>>, 2> slots;
  std::barrier turn(2);
  std::thread starter([&] {
    pool_.run([&] {
      for (int i = 0; i < kRounds; ++i) {
        slots[static_cast<std::size_t>(i % 2)].set_value(tmk::async([i] { return i; }));
        turn.arrive_and_wait();
      }
    });
  });
  for (int i = 0; i < kRounds; ++i) {
    auto& slot = slots[static_cast<std::size_t>(i % 2)];
    EXPECT_EQ(slot.get_future().get().get(), i);
    slot = {};
    turn.arrive_and_wait();
  }
  starter.join();
}

TEST_P(Semantics, no_wake_up_of_a_waiter_is_lost) {
  constexpr int kRounds = support::sanitized ? 1000 : 10000;
  pool_.run([] {
    for (int i = 0; i < kRounds; ++i) {
      tmk::promise<int> there, back;
      auto echo = tmk::async([&] { back.set_value(there.get_future().get() + 1); });
      there.set_value(i);
      ASSERT_EQ(back.get_future().get(), i + 1);
      echo.get();
    }
  });
}

TEST_P(Semantics, futures_outlive_their_pool) {
  tmk::future<int> done, pending;
  tmk::shared_future<std::unique_ptr<int>> shared;
  {
    tmk::pool own(GetParam());
    own.run([&] {
      done = tmk::async([] { return 1; });
      done.wait();
      pending = tmk::async([] { return tmk::async([] { return 2; }).get(); });
      shared = tmk::async([] { return std::make_unique<int>(3); }).share();
    });
  }
  EXPECT_EQ(pending.wait_for(0s), tmk::future_status::ready);
  EXPECT_EQ(done.get(), 1);
  EXPECT_EQ(pending.get(), 2);
  EXPECT_EQ(*shared.get(), 3);
}

TEST_P(Semantics, a_future_of_one_pool_can_be_waited_for_in_another) {
  tmk::pool other(2);
  auto outer = pool_.run([&] {
    auto mine = tmk::async([] { return 1; });
    return other.run([&] {
      auto theirs = tmk::async([&] { return mine.get() + 1; });
      return pool_.run([&] { return tmk::async([&] { return theirs.get() + 1; }).get(); });
    });
  });
  EXPECT_EQ(outer, 3);
}

int nested(int depth) {
  if (depth == 0) return 1;
  tmk::pool inner(1 + static_cast<unsigned>(depth) % 2);
  return inner.run([&] {
    auto left = tmk::async(nested, depth - 1);
    auto right = tmk::async(nested, depth - 1);
    return left.get() + right.get();
  });
}
TEST_P(Semantics, pools_inside_pools_work) {
  EXPECT_EQ(pool_.run([] { return nested(4); }), 16);
}

// An exception that counts its live objects.
struct Counted : std::runtime_error {
  Counted() : std::runtime_error("expected") { ++alive; }
  Counted(const Counted& other) : std::runtime_error(other) { ++alive; }
  Counted& operator=(const Counted&) = delete;
  ~Counted() override { --alive; }
  static inline std::atomic<int> alive = 0;
};

TEST_P(Semantics, an_exception_that_nobody_fetches_is_destroyed_with_its_future) {
  pool_.run([] {
    const auto fails = []() -> int { throw Counted(); };
    for (int i = 0; i < 200; ++i) {
      auto dropped = tmk::async(fails);
      auto waited = tmk::async(fails);
      waited.wait();
      auto shared = tmk::async(fails).share();
      EXPECT_THROW(shared.get(), Counted);
      EXPECT_THROW(shared.get(), Counted);
      EXPECT_THROW(tmk::async(fails).get(), Counted);
      EXPECT_THROW(tmk::fork_join(fails, fails, fails), Counted);
      tmk::task_scope tasks;
      tasks.run(fails);
      tasks.run(fails);
      if (i % 2 == 0) {
        EXPECT_THROW(tasks.wait(), Counted);
      }
    }
  });
  EXPECT_EQ(Counted::alive, 0);
}

// A callable whose copy makes tasks and then throws if it is asked to.
struct Busy {
  std::vector<tmk::future<int>>& made;
  int count;
  bool throws;
  Busy(std::vector<tmk::future<int>>& into, int tasks, bool bad)
      : made(into), count(tasks), throws(bad) {}
  Busy(const Busy& other) : Busy(other.made, other.count, other.throws) {
    for (int i = 0; i < count; ++i) made.push_back(tmk::async([i] { return i; }));
    if (count > 0) made.front() = tmk::async([] { return 0; });
    if (throws) throw Counted();
  }
  int operator()() const { return count; }
};
TEST_P(Semantics, the_construction_of_a_call_may_make_tasks_and_throw) {
  pool_.run([] {
    for (int round = 0; round < 100; ++round) {
      for (const int count : {0, 1, 2, 300}) {  // 300 tasks need a larger deque than a new one
        std::vector<tmk::future<int>> made;
        const Busy good(made, count, false), bad(made, count, true);
        auto before = tmk::async(good);
        EXPECT_THROW(static_cast<void>(tmk::async(bad)), Counted);
        auto after = tmk::async(good);
        EXPECT_EQ(before.get(), count);
        int sum = 0;
        for (auto& each : made) sum += each.get();
        EXPECT_EQ(sum, 3 * count * (count - 1) / 2);
        EXPECT_EQ(after.get(), count);
      }
    }
  });
  EXPECT_EQ(Counted::alive, 0);
}

TEST_P(Semantics, a_call_keeps_its_parts_while_its_tasks_use_their_memory) {
  pool_.run([] {
    const auto call = [](long a, const std::array<long, 2>& b) {
      std::vector<tmk::future<long>> inner;
      for (long i = 0; i < 50; ++i) {
        inner.push_back(tmk::async([i, c = std::array<long, 2>{-1, -1}] { return i + c[0]; }));
      }
      long sum = a + b[0] + b[1];
      for (auto& each : inner) sum += each.get();
      return sum + 10 * (a + b[0] + b[1]);
    };
    for (int i = 0; i < 200; ++i) {
      const auto policy = i % 2 == 0 ? tmk::launch::async : tmk::launch::deferred;
      EXPECT_EQ(tmk::async(policy, call, 1L, std::array<long, 2>{2, 3}).get(), 66 + 1225 - 50);
      tmk::task_scope tasks;
      long in_scope = 0;
      tasks.run([&, a = long{i}] { in_scope = call(a, {2, 3}) - 11 * a; });
      tasks.wait();
      EXPECT_EQ(in_scope, 55 + 1225 - 50);
    }
  });
}

TEST_P(Semantics, results_may_be_movable_only_references_or_nothing) {
  pool_.run([] {
    int number = 0;
    for (int i = 0; i < 500; ++i) {
      auto owned = tmk::async([](std::unique_ptr<int> p) { return p; }, std::make_unique<int>(i));
      auto reference = tmk::async([&]() -> int& { return number; });
      auto nothing = tmk::async([] {});
      std::array<char, 1000> large{};
      large[999] = 'x';
      auto heap = tmk::async([large] { return large; });
      if (i % 2 == 0) owned.wait();
      EXPECT_EQ(*owned.get(), i);
      EXPECT_EQ(&reference.get(), &number);
      nothing.get();
      EXPECT_EQ(heap.get()[999], 'x');
    }
  });
}

TEST_P(Semantics, thousands_wait_for_one_shared_future) {
  constexpr int kWaiters = support::sanitized ? 200 : 2000;
  tmk::promise<int> promise;
  const auto answer = promise.get_future().share();
  std::atomic<int> begun = 0;
  pool_.run([&] {
    std::vector<tmk::future<int>> tasks;
    for (int i = 0; i < kWaiters; ++i) {
      tasks.push_back(tmk::async([&begun, answer] {
        ++begun;
        return answer.get();
      }));
    }
    while (begun < kWaiters) std::this_thread::yield();  // each of them has a thread now
    promise.set_value(1);
    int sum = 0;
    for (auto& task : tasks) sum += task.get();
    EXPECT_EQ(sum, kWaiters);
  });
}

// A wait with a time-out neither runs the task nor keeps it from running.
TEST_P(Semantics, a_timed_wait_never_runs_the_task) {
  pool_.run([] {
    const auto here = std::this_thread::get_id();
    auto task = tmk::async([] { return std::this_thread::get_id(); });
    while (task.wait_for(1ms) != tmk::future_status::ready) {
    }
    EXPECT_NE(task.get(), here);
  });
}

// A scope belongs to no thread. The waiter takes the tasks that the maker has started, and goes on.
TEST_P(Semantics, a_scope_may_be_waited_for_by_another_thread_than_its_maker) {
  constexpr int kRounds = support::sanitized ? 300 : 3000;
  constexpr int kTasks = 40;
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<int> ran = 0;
    std::atomic<bool> waits = false;
    pool_.run([&] {
      tmk::task_scope tasks;
      std::thread waiter;
      std::atomic<bool> last = false;
      tasks.run([&] { spin_until(last); });  // so that wait() does not return before
      for (int i = 0; i < kTasks / 2; ++i) tasks.run([&] { ++ran; });
      waiter = std::thread([&] {
        waits = true;
        tasks.wait();
      });
      if (round % 2 == 0) spin_until(waits);
      for (int i = 0; i < kTasks / 2; ++i) {
        auto own = tmk::async([] { return 1; });
        tasks.run([&] { ++ran; });
        own.get();
      }
      last = true;
      waiter.join();
      ASSERT_EQ(ran, kTasks);
    });
  }
}

TEST_P(Semantics, a_scope_made_in_a_pool_may_outlive_the_visit) {
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> ran = 0;
    std::unique_ptr<tmk::task_scope> tasks;
    pool_.run([&] {
      tasks = std::make_unique<tmk::task_scope>();
      for (int i = 0; i < 20; ++i) tasks->run([&] { ++ran; });
    });
    std::thread visitor([&] {
      pool_.run([&] {  // with the worker that the maker had
        for (int i = 0; i < 20; ++i) tmk::async([] {}).get();
      });
    });
    for (int i = 0; i < 20; ++i) tasks->run([&] { ++ran; });
    tasks->wait();
    EXPECT_EQ(ran, 40);
    visitor.join();
  }
}

// Temporaries that fit in registers are passed by value, others by reference.
struct Deposit {
  int* total = nullptr;
  int calls = 0;
  explicit Deposit(int& into) : total(&into) {}
  Deposit(Deposit&&) = default;
  int operator()() & { return *total += ++calls; }
};
struct LargeDeposit : Deposit {
  using Deposit::Deposit;
  std::array<int, 8> more{};
};
template <class D>
void fork_callables() {
  int one = 0, other = 0, third = 0;
  D first(one), second(other);
  EXPECT_EQ(tmk::fork_join(first, second), std::tuple(1, 1));
  EXPECT_EQ(tmk::fork_join(first, second), std::tuple(3, 3));  // they were called themselves
  EXPECT_EQ(first.calls + second.calls, 4);
  EXPECT_EQ(tmk::fork_join(D(one), D(other), D(third)), std::tuple(4, 4, 1));
  EXPECT_EQ(tmk::fork_join(std::move(first)), std::tuple(7));
}
TEST_P(Semantics, fork_join_calls_what_it_is_given_and_moves_temporaries) {
  static_assert(std::is_trivially_copyable_v<Deposit> && !std::is_copy_constructible_v<Deposit>);
  pool_.run([] {
    fork_callables<Deposit>();
    fork_callables<LargeDeposit>();
    const auto fixed = [] { return 7L; };
    const auto [a, b, c, d] = tmk::fork_join(fixed, std::move(fixed), +[] { return 0.5; }, getpid);
    EXPECT_EQ(a + b, 14);
    EXPECT_EQ(c, 0.5);
    EXPECT_EQ(d, getpid());
    struct Held {
      int value;
      int& operator()() { return value; }
    };
    EXPECT_EQ(std::get<0>(tmk::fork_join(Held{7}, [] {})).get(), 7);
    auto owned = std::make_unique<int>(3);
    const auto [moved, none] =
        tmk::fork_join([&, held = std::move(owned)]() mutable { return std::move(held); }, [] {});
    EXPECT_EQ(*moved, 3);
  });
}
TEST_P(Semantics, fork_join_of_one_call_is_a_tuple_of_one_whatever_it_returns) {
  pool_.run([] {
    const auto pair = [] { return std::pair(1, 2); };
    const auto tuple = [] { return std::tuple(3); };
    using OfPair = decltype(tmk::fork_join(pair));
    using OfTuple = decltype(tmk::fork_join(tuple));
    EXPECT_TRUE((std::is_same_v<OfPair, std::tuple<std::pair<int, int>>>));
    EXPECT_TRUE((std::is_same_v<OfTuple, std::tuple<std::tuple<int>>>));
    EXPECT_EQ(std::get<0>(tmk::fork_join(pair)), std::pair(1, 2));
    EXPECT_EQ(std::get<0>(std::get<0>(tmk::fork_join(tuple))), 3);
    int number = 0;
    const auto [none, reference, owned] = tmk::fork_join([] {}, [&]() -> int& { return number; },
                                                         [] { return std::make_unique<int>(4); });
    EXPECT_TRUE((std::is_same_v<decltype(none), const std::monostate>));
    EXPECT_EQ(&reference.get(), &number);
    EXPECT_EQ(*owned, 4);
  });
}

// A wait of no number must not wait, and a wait longer than any clock counts must not return early.
TEST_P(Semantics, a_wait_of_no_number_is_a_look_and_one_without_end_waits) {
  using std::chrono::duration;
  using std::chrono::steady_clock;
  pool_.run([] {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const auto at = [](auto time) {
      return std::chrono::time_point<steady_clock, decltype(time)>(time);
    };
    using Hours = std::chrono::duration<long, std::ratio<3600>>;
    tmk::promise<void> pending;
    const tmk::future<void> never = pending.get_future();
    for (const double each : {nan, -nan, -infinity, -1e300, 0.0, -0.0, 1e-300}) {
      EXPECT_EQ(never.wait_for(duration<double>(each)), tmk::future_status::timeout);
      EXPECT_EQ(never.wait_until(at(duration<double>(each))), tmk::future_status::timeout);
    }
    EXPECT_EQ(never.wait_for(Hours::min()), tmk::future_status::timeout);
    EXPECT_EQ(never.wait_for(duration<long, std::femto>::min()), tmk::future_status::timeout);
    EXPECT_EQ(never.wait_until(at(Hours::min())), tmk::future_status::timeout);
    EXPECT_EQ(never.wait_until(at(duration<long, std::pico>::min())), tmk::future_status::timeout);

    const auto is_waited_for = [](auto wait) {
      tmk::promise<void> provider;
      const tmk::future<void> result = provider.get_future();
      std::thread setter([&] {
        std::this_thread::sleep_for(1ms);
        provider.set_value();
      });
      EXPECT_EQ(wait(result), tmk::future_status::ready);
      setter.join();
    };
    is_waited_for([&](const auto& f) { return f.wait_for(duration<double>(infinity)); });
    is_waited_for([](const auto& f) { return f.wait_for(duration<float, std::pico>(3e38f)); });
    is_waited_for([](const auto& f) { return f.wait_for(duration<long, std::exa>::max()); });
    is_waited_for([](const auto& f) { return f.wait_for(Hours::max()); });
    is_waited_for([&](const auto& f) { return f.wait_until(at(Hours::max())); });
    is_waited_for([&](const auto& f) { return f.wait_until(at(duration<double>(infinity))); });
    is_waited_for([&](const auto& f) { return f.wait_until(at(std::chrono::seconds::max())); });
  });
}

// A list whose nodes hold the future of their own type, which is not complete there.
struct Node {
  int value = 0;
  tmk::future<Node> next;
};
TEST_P(Semantics, an_invalid_future_costs_the_others_of_when_all_nothing) {
  tmk::pool pool(GetParam());
  pool.run([] {
    const auto one = [] { return 1; };
    auto [first, invalid] = tmk::when_all(tmk::async(one), tmk::shared_future<int>()).get();
    EXPECT_FALSE(invalid.valid());
    EXPECT_EQ(first.get(), 1);
    std::vector<tmk::future<int>> some(2);
    some[1] = tmk::async(one);
    auto all = tmk::when_all(some.begin(), some.end()).get();
    EXPECT_FALSE(all[0].valid());
    EXPECT_EQ(all[1].get(), 1);
  });
}

TEST_P(Semantics, a_type_may_hold_a_future_of_itself) {
  pool_.run([] {
    Node first{1, tmk::async([] { return Node{2, {}}; })};
    EXPECT_EQ(first.next.get().value, 2);
  });
}

// docs/runtime.md on a task that its waiter runs: the task is a call on the waiter's thread. In
// a pool of one thread a get() at once finds the task pending.
class InPlace : public testing::Test {
 protected:
  template <class F>
  static auto on_the_waiter(const F& call) {
    return tmk::async([&call, waiter = std::this_thread::get_id()] {
             EXPECT_EQ(std::this_thread::get_id(), waiter);
             return call();
           })
        .get();
  }
  template <class F>
  static auto on_a_new_thread(const F& call) {
    return tmk::async(tmk::launch::thread, call).get();
  }
  // No wait claims it, so that a thread of the pool runs it.
  template <class F>
  static auto elsewhere(const F& call) {
    auto task = tmk::async(call);
    while (task.wait_for(1ms) != tmk::future_status::ready) {
    }
    return task.get();
  }
  support::Deadline deadline_;
  tmk::pool pool_{1};
};

TEST_F(InPlace, a_task_owns_the_recursive_mutexes_of_its_waiter) {
  pool_.run([] {
    std::recursive_mutex mutex;
    const std::lock_guard guard(mutex);
    const auto locks = [&] { return std::unique_lock(mutex, std::try_to_lock).owns_lock(); };
    EXPECT_TRUE(on_the_waiter(locks));
    EXPECT_FALSE(on_a_new_thread(locks));
  });
}

TEST_F(InPlace, a_task_sees_the_exceptions_of_its_waiter) {
  pool_.run([] {
    const auto handled = [] { return std::current_exception() != nullptr; };
    const auto uncaught = [] { return std::uncaught_exceptions(); };
    int in_place = -1, new_thread = -1;
    struct AtEnd {
      std::function<void()> body;
      ~AtEnd() { body(); }
    };
    try {
      const AtEnd asks{[&] {
        in_place = on_the_waiter(uncaught);
        new_thread = on_a_new_thread(uncaught);
      }};
      throw 1;
    } catch (int) {
      EXPECT_TRUE(on_the_waiter(handled));
      EXPECT_FALSE(on_a_new_thread(handled));
      EXPECT_THROW(on_the_waiter([] { throw; }), int);
    }
    EXPECT_EQ(in_place, 1);
    EXPECT_EQ(new_thread, 0);
  });
}

TEST_F(InPlace, what_a_task_sets_of_its_thread_stays_with_the_waiter) {
  pool_.run([] {
    const int before = std::fegetround();
    const locale_t own = newlocale(LC_ALL_MASK, "C", nullptr);
    ASSERT_NE(own, nullptr);
    const auto set = [&] {
      std::fesetround(FE_UPWARD);
      uselocale(own);
    };
    on_a_new_thread(set);
    EXPECT_EQ(std::fegetround(), before);
    EXPECT_EQ(uselocale(nullptr), LC_GLOBAL_LOCALE);
    on_the_waiter(set);
    EXPECT_EQ(std::fegetround(), FE_UPWARD);
    EXPECT_EQ(uselocale(LC_GLOBAL_LOCALE), own);
    EXPECT_EQ(on_the_waiter([] { return std::fegetround(); }), FE_UPWARD);
    std::fesetround(before);
    freelocale(own);
  });
}

// The thread unwinds, as with any pthread_exit: it gives back all that it holds, and others go on.
TEST_F(InPlace, pthread_exit_ends_the_thread_of_the_waiter_and_leaves_nothing_held) {
#if defined(_LIBCPP_VERSION)
  GTEST_SKIP() << "with libc++ 19 pthread_exit past a destructor is a crash without tmk too";
#endif
  const auto exits = [] { pthread_exit(nullptr); };
  std::mutex mutex;
  tmk::shared_future<void> shared;
  bool returned = false;
  std::thread([&] {
    pool_.run([&] {
      const std::lock_guard guard(mutex);
      tmk::async(exits).get();
      returned = true;
    });
  }).join();
  std::thread([&] {
    pool_.run([&] {
      const std::lock_guard guard(mutex);
      shared = tmk::async(exits).share();
      shared.wait();
      returned = true;
    });
  }).join();
  EXPECT_FALSE(returned);
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
  EXPECT_THROW(shared.get(), tmk::future_error);  // broken promise, for waits elsewhere
  EXPECT_EQ(pool_.run([] { return tmk::async([] { return 3; }).get(); }), 3);
  EXPECT_EQ(pool_.run([] { return elsewhere([] { return 4; }); }), 4);
}

TEST_F(InPlace, pthread_exit_elsewhere_is_a_broken_promise) {
#if defined(_LIBCPP_VERSION)
  GTEST_SKIP() << "with libc++ 19 pthread_exit past a destructor is a crash without tmk too";
#endif
  pool_.run([] {
    auto task = tmk::async([] { pthread_exit(nullptr); });
    while (task.wait_for(1ms) != tmk::future_status::ready) {
    }
    EXPECT_THROW(task.get(), tmk::future_error);
    EXPECT_EQ(elsewhere([] { return 5; }), 5);
  });
}

// As with libstdc++, an argument by value is neither copied nor moved on its way to the callable.
struct Fixed {
  Fixed() = default;
  Fixed(const Fixed&) = delete;
  int value = 3;
};
TEST(Types, an_argument_that_cannot_be_moved_reaches_a_packaged_task) {
  tmk::packaged_task<int(Fixed)> task([](const Fixed& fixed) { return fixed.value; });
  tmk::future<int> result = task.get_future();
  task(Fixed());
  EXPECT_EQ(result.get(), 3);
}

struct HidesItsAddress {
  std::atomic<int>* calls;
  char operator&() const { return 'a'; }
  void operator()() const { ++*calls; }
};
TEST(Types, a_task_may_overload_the_operator_for_its_address) {
  std::atomic<int> calls{0};
  tmk::task_scope scope;
  scope.run(HidesItsAddress{&calls});
  scope.wait();
  tmk::async(HidesItsAddress{&calls}).get();
  EXPECT_EQ(calls, 2);
}

INSTANTIATE_TEST_SUITE_P(OfThreads, Semantics, testing::Values(1, 2, 5),
                         testing::PrintToStringParamName());

}  // namespace
