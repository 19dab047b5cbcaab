// A round table with one thread per philosopher: each takes two forks with the requested lock, eats
// a portion (a fixed number of operations, so a holder that is preempted makes no progress), and
// lays them down. Prints the cost, and the waits of the philosophers for one another.
//
//   table [LOCK PHILOSOPHERS PORTIONS OPERATIONS SEED [MILLISECONDS]]
//
// Each eats PORTIONS of OPERATIONS in meals of 1 to 10; with MILLISECONDS, for that time without a
// limit of portions. Without arguments, the names of the locks.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

#include <tmk/mutex.hpp>

#include "candidates.hpp"

std::uint64_t eat(std::uint64_t taste, std::int64_t operations);  // eat.cpp

namespace {

using Clock = std::chrono::steady_clock;

struct Std {
  static void lock(auto& first, auto& second) { std::lock(first, second); }
};
struct Tmk {
  static void lock(auto& first, auto& second) { tmk::lock(first, second); }
};

struct Dinner {
  std::size_t philosophers;
  std::int64_t portions;
  std::int64_t operations;  // of a portion
  std::uint64_t seed;
  std::optional<Clock::duration> time;
};

// The holder of the mutex writes the counts.
template <class Mutex>
struct alignas(64) Fork {
  Mutex mutex;
  std::int64_t meals = 0;
  std::int64_t portions = 0;
};

struct alignas(64) Result {
  std::int64_t meals = 0;
  std::int64_t portions = 0;
  Clock::duration waited{};
  Clock::duration longest_wait{};
  std::int64_t overtaken = 0;  // most meals of a neighbour between two own meals
  std::uint64_t taste = 1;
};

template <class Lock, class Mutex>
Result dine(const Dinner& dinner, std::size_t seat, Fork<Mutex>& left, Fork<Mutex>& right,
            const std::atomic<bool>& closed) {
  std::minstd_rand random(static_cast<std::minstd_rand::result_type>(dinner.seed * 1000 + seat));
  Result result;
  std::int64_t left_meals = 0;
  std::int64_t right_meals = 0;
  for (std::int64_t hunger = dinner.portions; dinner.time ? !closed : hunger > 0; ++result.meals) {
    std::int64_t portion = 1 + static_cast<std::int64_t>(random() / 16 % 10);
    const bool left_first = random() / 16 % 2 == 0;
    if (!dinner.time) portion = std::min(portion, hunger);
    hunger -= portion;
    const auto before = Clock::now();
    Lock::lock(left_first ? left.mutex : right.mutex, left_first ? right.mutex : left.mutex);
    const auto waited = Clock::now() - before;
    result.waited += waited;
    result.longest_wait = std::max(result.longest_wait, waited);
    if (result.meals > 0) {  // before the first, the thread may not have begun
      result.overtaken =
          std::max({result.overtaken, left.meals - left_meals, right.meals - right_meals});
    }
    result.portions += portion;
    left.portions += portion;
    right.portions += portion;
    left_meals = ++left.meals;
    right_meals = ++right.meals;
    result.taste = eat(result.taste, portion * dinner.operations);
    left.mutex.unlock();
    right.mutex.unlock();
  }
  return result;
}

template <class Lock, class Mutex>
int serve(const Dinner& dinner) {
  const auto forks = std::make_unique<Fork<Mutex>[]>(dinner.philosophers);
  std::vector<Result> results(dinner.philosophers);
  std::latch start(static_cast<std::ptrdiff_t>(dinner.philosophers) + 1);
  std::atomic<bool> closed = false;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < dinner.philosophers; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      results[i] = dine<Lock>(dinner, i, forks[i], forks[(i + 1) % dinner.philosophers], closed);
    });
  }
  const auto begin = Clock::now();
  start.arrive_and_wait();
  if (dinner.time) {
    std::this_thread::sleep_for(*dinner.time);
    closed = true;
  }
  for (std::thread& thread : threads) thread.join();
  const auto elapsed = Clock::now() - begin;

  std::int64_t all = 0;
  std::int64_t meals = 0;
  std::int64_t least = INT64_MAX;
  std::int64_t overtaken = 0;
  Clock::duration longest{};
  Clock::duration slowest{};
  std::uint64_t taste = 0;
  for (std::size_t i = 0; i < dinner.philosophers; ++i) {
    const Result& each = results[i];
    all += each.portions;
    meals += each.meals;
    least = std::min(least, each.portions);
    overtaken = std::max(overtaken, each.overtaken);
    longest = std::max(longest, each.longest_wait);
    slowest = std::max(slowest, each.waited);
    taste ^= each.taste;
    const Result& neighbour = results[(i + dinner.philosophers - 1) % dinner.philosophers];
    if (forks[i].portions != each.portions + neighbour.portions) {
      std::fprintf(stderr, "fork %zu was held by two at once\n", i);
      return 3;
    }
  }
  const auto ns = [](Clock::duration time) {
    return static_cast<long long>(std::chrono::nanoseconds(time).count());
  };
  std::printf(
      "{\"wall_ns\":%lld,\"portions\":%lld,\"meals\":%lld,\"least\":%lld,\"longest_wait_ns\":%lld,"
      "\"slowest_waited_ns\":%lld,\"overtaken\":%lld,\"taste\":%llu}\n",
      ns(elapsed), static_cast<long long>(all), static_cast<long long>(meals),
      static_cast<long long>(least), ns(longest), ns(slowest), static_cast<long long>(overtaken),
      static_cast<unsigned long long>(taste));
  return 0;
}

struct Contestant {
  std::string_view name;
  int (*serve)(const Dinner& dinner);
};
using candidates::Ticket;
template <bool kStrict>
using Queue = candidates::Queue<kStrict>;
constexpr Contestant kContestants[] = {
    {"std", &serve<Std, std::mutex>},
    {"tmk", &serve<Tmk, tmk::mutex>},
    {"tmk/std::mutex", &serve<Tmk, std::mutex>},
    {"persistent/std::mutex", &serve<candidates::Persistent, std::mutex>},
    {"smart/std::mutex", &serve<candidates::Smart<false>, std::mutex>},
    {"polite/std::mutex", &serve<candidates::Smart<true>, std::mutex>},
    {"ordered/std::mutex", &serve<candidates::Ordered, std::mutex>},
    {"persistent/tmk::mutex", &serve<candidates::Persistent, tmk::mutex>},
    {"smart/tmk::mutex", &serve<candidates::Smart<false>, tmk::mutex>},
    {"polite/tmk::mutex", &serve<candidates::Smart<true>, tmk::mutex>},
    {"ordered/tmk::mutex", &serve<candidates::Ordered, tmk::mutex>},
    {"smart/ticket", &serve<candidates::Smart<false>, Ticket>},
    {"ordered/ticket", &serve<candidates::Ordered, Ticket>},
    {"queue/greedy", &serve<Queue<false>, Queue<false>::mutex>},
    {"queue/strict", &serve<Queue<true>, Queue<true>::mutex>},
};

}  // namespace

int main(int count, char** arguments) {
  if (count == 6 || count == 7) {
    const auto number = [&](int i) { return std::strtoll(arguments[i], nullptr, 10); };
    Dinner dinner{.philosophers = static_cast<std::size_t>(number(2)),
                  .portions = number(3),
                  .operations = number(4),
                  .seed = static_cast<std::uint64_t>(number(5)),
                  .time = std::nullopt};
    if (count == 7) dinner.time = std::chrono::milliseconds(number(6));
    for (const Contestant& each : kContestants) {
      if (each.name == arguments[1] && number(2) >= 2) return each.serve(dinner);
    }
  }
  if (count != 1) {
    std::fprintf(stderr,
                 "usage: table [LOCK PHILOSOPHERS PORTIONS OPERATIONS SEED [MILLISECONDS]]\n");
    return 2;
  }
  for (const Contestant& each : kContestants)
    std::printf("%.*s\n", static_cast<int>(each.name.size()), each.name.data());
  return 0;
}
