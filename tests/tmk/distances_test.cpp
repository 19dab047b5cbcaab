// The distances of processors, from files of made-up machines; thieves look at the near workers
// first. If all are equally near, thieves look at them in the order without distances.
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "fake_system.hpp"
#include "support.hpp"
#include "tmk/async.hpp"
#include "tmk/detail/distances.hpp"
#include "tmk/pool.hpp"

// A pool measures its machine itself. To give it another machine, this test opens its members,
// which an explicit instantiation may name.
template <auto Member>
struct OpenPool {
  friend tmk::detail::Pool& inside(tmk::pool& pool) { return *(pool.*Member); }
};
tmk::detail::Pool& inside(tmk::pool& pool);
template struct OpenPool<&tmk::pool::pool_>;
template <auto Member>
struct OpenDistances {
  friend std::atomic<const tmk::detail::Distances*>& distances_of(tmk::detail::Pool& pool) {
    return pool.*Member;
  }
};
std::atomic<const tmk::detail::Distances*>& distances_of(tmk::detail::Pool& pool);
template struct OpenDistances<&tmk::detail::Pool::distances_>;

namespace {

using support::FakeSystem;
using tmk::detail::Distances;
using tmk::detail::Worker;

cpu_set_t processors(int count, std::initializer_list<int> away = {}) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int each = 0; each < count; ++each) CPU_SET(each, &set);
  for (const int each : away) CPU_CLR(each, &set);
  return set;
}
// A machine: each processor, and the processors that share a resource with it.
struct Machine : FakeSystem {
  Machine& share(int processor, std::string_view what, std::string_view list) {
    with("sys/devices/system/cpu/cpu" + std::to_string(processor) + "/" + std::string(what), list);
    return *this;
  }
  Machine& cache(int processor, int index, int level, std::string_view list) {
    const std::string folder = "cache/index" + std::to_string(index);
    share(processor, folder + "/level", std::to_string(level));
    return share(processor, folder + "/shared_cpu_list", list);
  }
  Machine& node(int number, std::string_view list) {
    with("sys/devices/system/node/node" + std::to_string(number) + "/cpulist", list);
    return *this;
  }
  Machine& nodes(std::string_view list) {
    with("sys/devices/system/node/online", list);
    return *this;
  }
  // Own caches of the first two levels, and a third one shared with the processors of the list.
  Machine& core(int processor, std::string_view siblings, std::string_view third) {
    share(processor, "topology/thread_siblings_list", siblings);
    return cache(processor, 0, 1, siblings)
        .cache(processor, 1, 1, siblings)
        .cache(processor, 2, 2, siblings)
        .cache(processor, 3, 3, third);
  }
};

TEST(Distances, cores_that_share_the_last_cache_are_all_as_near) {
  Machine machine;
  machine.nodes("0").node(0, "0-3");
  for (int each = 0; each < 4; ++each) machine.core(each, std::to_string(each), "0-3");
  const Distances distances(processors(4), machine.root());
  EXPECT_FALSE(distances.differ());
  EXPECT_EQ(distances.between(0, 3), distances.between(2, 1));
}

TEST(Distances, a_third_cache_is_nearer_than_another) {
  Machine machine;
  machine.nodes("0").node(0, "0-7");
  for (int each = 0; each < 8; ++each) {
    machine.core(each, std::to_string(each), each < 4 ? "0-3" : "4-7");
  }
  const Distances distances(processors(8), machine.root());
  EXPECT_TRUE(distances.differ());
  EXPECT_LT(distances.between(0, 3), distances.between(0, 4));
  EXPECT_EQ(distances.between(5, 6), distances.between(0, 3));
  EXPECT_EQ(distances.between(7, 0), distances.between(0, 4));
}

TEST(Distances, another_node_is_farther_than_another_cache) {
  Machine machine;
  machine.nodes("0-1").node(0, "0-3").node(1, "4-7");
  for (int each = 0; each < 8; ++each) {
    machine.core(each, std::to_string(each),
                 each % 4 < 2 ? each < 4 ? "0,1" : "4,5"
                 : each < 4   ? "2,3"
                              : "6,7");
  }
  const Distances distances(processors(8), machine.root());
  EXPECT_TRUE(distances.differ());
  EXPECT_LT(distances.between(0, 1), distances.between(0, 2));
  EXPECT_LT(distances.between(0, 2), distances.between(0, 4));
  EXPECT_EQ(distances.between(3, 7), Distances::kFarthest);
}

// Some virtual machines report only nodes.
TEST(Distances, nodes_alone_are_enough) {
  Machine machine;
  machine.nodes("0,2").node(0, "0,2").node(1, "0-3").node(2, "1,3");
  const Distances distances(processors(4), machine.root());
  EXPECT_TRUE(distances.differ());
  EXPECT_EQ(distances.between(0, 2), 0u);
  EXPECT_EQ(distances.between(0, 3), Distances::kFarthest);
}

TEST(Distances, the_siblings_of_a_core_are_nearest) {
  Machine machine;
  for (int each = 0; each < 4; ++each) machine.core(each, each % 2 == 0 ? "0,2" : "1,3", "0-3");
  const Distances distances(processors(4), machine.root());
  EXPECT_TRUE(distances.differ());
  EXPECT_EQ(distances.between(0, 2), 0u);
  EXPECT_LT(distances.between(1, 3), distances.between(0, 1));
  // Without the siblings, all other processors are equally near.
  EXPECT_FALSE(Distances(processors(4, {2, 3}), machine.root()).differ());
}

TEST(Distances, cores_may_share_the_second_cache) {
  Machine machine;
  for (int each = 0; each < 4; ++each) {
    const std::string own = std::to_string(each);
    machine.share(each, "topology/thread_siblings_list", own).cache(each, 0, 1, own);
    machine.cache(each, 1, 2, each < 2 ? "0-1" : "2-3");
  }
  const Distances distances(processors(4), machine.root());
  EXPECT_TRUE(distances.differ());
  EXPECT_LT(distances.between(0, 1), distances.between(1, 2));
}

TEST(Distances, files_that_are_missing_make_nobody_far) {
  EXPECT_FALSE(Distances(processors(8), FakeSystem().root()).differ());
  EXPECT_FALSE(Distances(processors(0), FakeSystem().root()).differ());
  Machine machine;  // the second half was offline when the files were read
  machine.core(0, "0", "0-1").core(1, "1", "0-1").nodes("0-5").node(0, "0-3");
  const Distances distances(processors(4), machine.root());
  EXPECT_EQ(distances.between(0, 2), 0u);
  EXPECT_EQ(distances.between(2, 3), 0u);
  EXPECT_EQ(distances.between(-1, 3), 0u);
  EXPECT_EQ(distances.between(0, 100'000), 0u);
}

TEST(Distances, nonsense_in_the_files_makes_nobody_far) {
  Machine nonsense;
  for (const char* list : {"", "-", "x", "-1", "3-1", ",", "0x0-0x3", "9999999999999999999", "7-9",
                           " 0-3", "2000-3000", "1 2"}) {
    nonsense.nodes(list).node(0, list).node(1, list);
    for (int each = 0; each < 4; ++each) nonsense.core(each, list, list);
    EXPECT_FALSE(Distances(processors(4), nonsense.root()).differ()) << list;
  }
  Machine machine;  // the part before the nonsense counts
  machine.nodes("0-1,x").node(0, "0-1,-").node(1, "2,3-");
  for (const char* level : {"", "two", "22", "-3"}) {
    machine.share(0, "cache/index0/level", level).share(0, "cache/index0/shared_cpu_list", "0");
    const Distances distances(processors(4), machine.root());
    EXPECT_EQ(distances.between(0, 1), 0u);
    EXPECT_EQ(distances.between(0, 2), Distances::kFarthest);
    EXPECT_EQ(distances.between(0, 3), 0u);
  }
}

TEST(Distances, this_machine_is_as_far_in_both_directions) {
  cpu_set_t own;
  ASSERT_EQ(sched_getaffinity(0, sizeof own, &own), 0);
  const Distances distances(own);
  for (int one = 0; one < CPU_SETSIZE; ++one) {
    EXPECT_EQ(distances.between(one, one), 0u);
    EXPECT_EQ(distances.between(0, one), distances.between(one, 0));
  }
  EXPECT_FALSE(distances.differ() && CPU_COUNT(&own) <= 2);
}

// ---- the workers that a thief visits ----

// Six workers in a list, on processors 0 to 5 of a machine with two third caches of three each.
struct Workers {
  Worker all[6];
  Workers() {
    for (int i = 0; i < 6; ++i) {
      all[i].processor = i;
      all[i].next = i < 5 ? &all[i + 1] : nullptr;
    }
  }
  std::vector<int> visited(int by, unsigned behind, const Distances* distances) {
    std::vector<int> numbers;
    tmk::detail::visit_others(&all[0], all[by], behind, distances, [&](Worker& other) {
      numbers.push_back(other.processor);
      return false;
    });
    return numbers;
  }
};

TEST(Visits, all_are_visited_from_some_place_of_the_list_on) {
  Workers workers;
  EXPECT_EQ(workers.visited(3, 2, nullptr), (std::vector{2, 4, 5, 0, 1, 2, 4, 5}));
  EXPECT_EQ(workers.visited(0, 16, nullptr), (std::vector{1, 2, 3, 4, 5}));
}
TEST(Visits, the_near_ones_come_first) {
  Machine machine;
  for (int each = 0; each < 6; ++each) {
    machine.core(each, std::to_string(each), each < 3 ? "0-2" : "3-5");
  }
  const Distances distances(processors(6), machine.root());
  Workers workers;
  EXPECT_EQ(workers.visited(4, 16, &distances), (std::vector{3, 5, 0, 1, 2}));
  EXPECT_EQ(workers.visited(1, 1, &distances), (std::vector{2, 0, 2, 4, 5, 3, 4, 5}));
  // A worker on an unknown processor is visited too.
  workers.all[5].processor = -1;
  EXPECT_EQ(workers.visited(0, 16, &distances), (std::vector{-1, 1, 2, 3, 4}));
}
TEST(Visits, the_first_that_has_something_ends_them) {
  Workers workers;
  int visits = 0;
  EXPECT_TRUE(tmk::detail::visit_others(&workers.all[0], workers.all[0], 1, nullptr,
                                        [&](Worker&) { return ++visits == 2; }));
  EXPECT_EQ(visits, 2);
}

long fib(long n) {
  if (n < 2) return n;
  auto a = tmk::async(fib, n - 1);
  const long b = fib(n - 2);
  return a.get() + b;
}
// As on a machine whose processors have their own caches and memory.
TEST(Visits, a_pool_whose_processors_are_far_apart_runs_everything) {
  const support::Deadline deadline;
  Machine machine;
  cpu_set_t own;
  ASSERT_EQ(sched_getaffinity(0, sizeof own, &own), 0);
  machine.nodes("0-63");
  for (int each = 0; each < 64; ++each) machine.node(each, std::to_string(each));
  tmk::pool pool(4);
  distances_of(inside(pool)) = new Distances(processors(64), machine.root());
  EXPECT_EQ(pool.run([] { return fib(support::sanitized ? 18 : 25); }),
            support::sanitized ? 2584 : 75025);
  pool.run([&] {
    std::vector<tmk::future<int>> tasks;
    for (int i = 0; i < 1'000; ++i) tasks.push_back(tmk::async([i] { return i; }));
    int sum = 0;
    for (auto& each : tasks) sum += each.get();
    EXPECT_EQ(sum, 499'500);
    EXPECT_GE(tmk::detail::current_worker->processor, 0);  // this thread's push has set it
  });
}

}  // namespace
