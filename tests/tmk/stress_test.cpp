// Random trees of tasks, fetched in random order, on random threads, with exceptions, while each
// task checks its guarantees. Mainly for ThreadSanitizer and AddressSanitizer.
#define TMK_ASSERTIONS

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "support.hpp"
#include "tmk/async.hpp"
#include "tmk/fork_join.hpp"
#include "tmk/pool.hpp"
#include "tmk/when_all.hpp"

namespace {

constexpr std::uint64_t mix(std::uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// The form of a tree depends on its seed alone; the order of its tasks depends on chance.
struct Shape {
  std::uint64_t seed;
  int depth;
  int children() const { return depth == 0 ? 0 : static_cast<int>(mix(seed) % 4); }
  Shape child(int i) const { return {mix(seed + static_cast<std::uint64_t>(i) + 1), depth - 1}; }
  bool throws() const { return mix(seed ^ 1) % 8 == 0; }
  bool deferred() const { return mix(seed ^ 2) % 8 == 0; }
  bool joined() const { return mix(seed ^ 3) % 4 == 0; }  // children are forked, not futures
  std::uint64_t result() const { return mix(seed ^ 4); }
  int nodes() const {
    int sum = 1;
    for (int i = 0; i < children(); ++i) sum += child(i).nodes();
    return sum;
  }
};
struct Failure {
  std::uint64_t result;
};

using support::below;
using support::one_in;

std::atomic<int> nodes_run = 0;
std::atomic<int> broken_rules = 0;

// The calls of this thread, innermost first: a running task, or a wait for some tasks.
struct Frame {
  const Shape* waited_from = nullptr;  // null: a running task
  const Frame* outer = innermost;
  Frame() { innermost = this; }
  explicit Frame(const Shape& waited) : waited_from(&waited) { innermost = this; }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
  ~Frame() { innermost = outer; }
  static thread_local const Frame* innermost;
};
thread_local const Frame* Frame::innermost = nullptr;

// A started task stays on its thread, and above a wait only the awaited tasks run.
struct Running : Frame {
  explicit Running(const Shape& shape) {
    ++nodes_run;
    if (outer != nullptr &&
        (outer->waited_from == nullptr || outer->waited_from->seed != shape.seed)) {
      ++broken_rules;
    }
  }
  ~Running() {
    if (thread != std::this_thread::get_id() || innermost != this) ++broken_rules;
  }
  std::thread::id thread = std::this_thread::get_id();
};

struct Handle {
  Shape shape;
  std::variant<tmk::future<std::uint64_t>, tmk::shared_future<std::uint64_t>> future;

  void settle() {
    const Frame waiting(shape);
    std::visit([this](auto& f) { settle(f); }, future);
  }

 private:
  void settle(auto& f) {
    if (!shape.deferred()) {
      if (one_in(8)) {  // the drop waits
        f = {};
        return;
      }
      if (one_in(8)) f.wait_for(std::chrono::microseconds(below(50)));
    }
    if (one_in(4)) f.wait();
    try {
      if (f.get() != shape.result() || shape.throws()) ++broken_rules;
    } catch (const Failure& failure) {
      if (failure.result != shape.result() || !shape.throws()) ++broken_rules;
    }
  }
};
using Handles = std::vector<Handle>;

Handle take_any(Handles& from) {
  std::swap(from[below(from.size())], from.back());
  Handle taken = std::move(from.back());
  from.pop_back();
  return taken;
}

std::uint64_t node(Shape shape, Handles given);

Handle spawn(const Shape& shape, Handles given) {
  auto policy = shape.deferred() ? tmk::launch::deferred
                : one_in(64)     ? tmk::launch::thread
                : one_in(2)      ? tmk::launch::async
                                 : tmk::launch::async | tmk::launch::deferred;
  auto future = tmk::async(policy, node, shape, std::move(given));
  if (one_in(4)) return {shape, future.share()};
  return {shape, std::move(future)};
}

void call(const Shape& shape) {
  const Frame waiting(shape);
  try {
    node(shape, {});
  } catch (const Failure&) {
    if (!shape.throws()) ++broken_rules;
  }
}

// The children as branches, of which any number may run in place.
void join_children(const Shape& shape) {
  const int n = shape.children();
  if (n == 2) {
    tmk::fork_join([&] { call(shape.child(0)); }, [&] { call(shape.child(1)); });
    return;
  }
  tmk::task_scope tasks;
  for (int i = 0; i < n; ++i) tasks.run([child = shape.child(i)] { call(child); });
  if (one_in(2)) tasks.wait();
}

// `given`: futures of tasks made before this one, so that no waits can go round in a circle.
std::uint64_t node(Shape shape, Handles given) {
  const Running running(shape);
  Handles mine = std::move(given);
  if (shape.joined()) {
    join_children(shape);
  } else {
    for (int i = 0; i < shape.children(); ++i) {
      Handles gift;
      while (!mine.empty() && one_in(3)) {
        gift.push_back(take_any(mine));
        if (auto* shared = std::get_if<1>(&gift.back().future); shared != nullptr && one_in(2)) {
          mine.push_back({gift.back().shape, *shared});
        }
      }
      mine.push_back(spawn(shape.child(i), std::move(gift)));
      if (one_in(16)) std::this_thread::yield();
    }
  }
  std::erase_if(mine, [](Handle& handle) {
    if (!handle.shape.deferred()) return false;
    handle.settle();  // otherwise no thread would run it
    return true;
  });
  if (shape.throws() && one_in(2)) {
    // The task waits for the rest while the exception passes: as one frame, of the first.
    while (mine.size() > 1) take_any(mine).settle();
    if (mine.empty()) throw Failure{shape.result()};
    const Frame waiting(mine.front().shape);
    const Handle last = take_any(mine);
    throw Failure{shape.result()};
  }
  while (!mine.empty()) {
    Handle next = take_any(mine);
    if (one_in(128)) {
      std::thread([&] { next.settle(); }).join();
    } else {
      next.settle();
    }
  }
  if (shape.throws()) throw Failure{shape.result()};
  return shape.result();
}

class Stress : public testing::TestWithParam<unsigned> {
 protected:
  support::Deadline deadline_;
};

TEST_P(Stress, random_trees_of_tasks_keep_every_rule) {
  constexpr int kRounds = support::sanitized ? 20 : 60;
  tmk::pool pool(GetParam());
  const auto seed = std::random_device{}();
  RecordProperty("seed", std::to_string(seed));
  std::atomic<int> expected = 0;
  nodes_run = 0;
  broken_rules = 0;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (unsigned round = 0; round < kRounds; ++round) {
        const Shape root{mix(seed + 1000 * t + round), 10};
        expected += root.nodes();
        if (t == 0) {
          call(root);  // in the standard pool
        } else {
          pool.run([&] { call(root); });
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(nodes_run, expected);
  EXPECT_EQ(broken_rules, 0);
  RecordProperty("nodes", nodes_run);
}

TEST_P(Stress, one_future_for_many_is_ready_after_all) {
  constexpr int kRounds = support::sanitized ? 100 : 1000;
  tmk::pool pool(GetParam());
  pool.run([] {
    for (int round = 0; round < kRounds; ++round) {
      std::vector<tmk::future<int>> some;
      for (int i = 0; i < 20; ++i) some.push_back(tmk::async([i] { return i; }));
      auto all = tmk::when_all(some.begin(), some.end());
      auto two = tmk::when_all(tmk::async([] { return 1; }), tmk::async([] {}).share());
      if (one_in(2)) all.wait();
      auto [number, nothing] = two.get();
      EXPECT_EQ(number.wait_for(std::chrono::seconds(0)), tmk::future_status::ready);
      EXPECT_EQ(number.get(), 1);
      int sum = 0;
      for (auto& each : all.get()) sum += each.get();
      EXPECT_EQ(sum, 190);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(OfThreads, Stress, testing::Values(1, 2, 3, 8),
                         testing::PrintToStringParamName());

}  // namespace
