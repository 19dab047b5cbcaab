// may use: TBB : TBB::tbb : HAS_TBB
// may use: tmk : tmk::tmk : HAS_TMK
// Algorithms with std::execution::par: shows whether a library uses threads for them at all, which
// the library does not report. With libstdc++ they use oneTBB's threads if its headers were
// present; else they are serial. It is long because three algorithms have three results to check.
#include <algorithm>
#include <cstdint>
#include <execution>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "contention.hpp"
#include "opaque.hpp"
#include "random.hpp"

// libc++ has no macro for what it keeps behind -fexperimental-library.
#if defined(__cpp_lib_parallel_algorithm) || (defined(_LIBCPP_VERSION) && _LIBCPP_VERSION >= 180000)
#define HAS_PARALLEL 1
#else
#define HAS_PARALLEL 0
#endif

#if defined(HAS_TBB)
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>
#include <tbb/task_arena.h>
#endif
#if defined(HAS_TMK)
#include <tmk/loop.hpp>
#include <tmk/pool.hpp>
#endif

namespace {

using Numbers = std::vector<std::uint64_t>;

// What keeps an algorithm to `threads` threads, one of which calls it.
struct Own {
  explicit Own(unsigned) {}
  template <class F>
  void run(const F& body) {
    body();
  }
};
#if defined(HAS_TBB)
struct Arena {
  explicit Arena(unsigned threads) : arena(static_cast<int>(threads)) {}
  template <class F>
  void run(const F& body) {
    arena.execute(body);
  }
  tbb::task_arena arena;
};
#else
using Arena = Own;
#endif
#if defined(HAS_TMK)
struct Pool {
  explicit Pool(unsigned threads) : pool(threads) {}
  template <class F>
  void run(const F& body) {
    pool.run(body);
  }
  tmk::pool pool;
};
#endif

// Some work for one number: 16 steps of a generator (Knuth's MMIX).
std::uint64_t worked(std::uint64_t number) {
  for (int step = 0; step < 16; ++step) {
    number = bench::opaque(number * 6364136223846793005U + 1442695040888963407U);
  }
  return number;
}
// The same at once: the steps one after another are one step with other constants.
std::uint64_t expected(std::uint64_t number) {
  std::uint64_t factor = 1, sum = 0;
  for (int step = 0; step < 16; ++step) {
    factor *= 6364136223846793005U;
    sum = sum * 6364136223846793005U + 1442695040888963407U;
  }
  return number * factor + sum;
}

// Every number is replaced by what was worked out of it; from the n-th call's number n on.
struct Every {
  static constexpr std::size_t size = 100'000;
  Every() : numbers(size) {}
  void prepare(std::uint64_t call) { first = call; }
  template <class Loop>
  void run(const Loop& loop) {
    loop(numbers, [this](std::uint64_t& number) {
      number = worked(first + static_cast<std::uint64_t>(&number - numbers.data()));
    });
  }
  bool right() const {
    for (std::size_t i = 0; i < size; ++i) {
      if (numbers[i] != expected(first + i)) return false;
    }
    return true;
  }
  Numbers numbers;
  std::uint64_t first = 0;
};

// Random numbers into their order; the copy is a part of it, alike in all ways.
struct Order {
  static constexpr std::size_t size = 30'000;
  Order() : shuffled(size) {
    bench::Random random(1);
    for (std::uint64_t& each : shuffled) each = random.next() >> 32;
    sum = std::accumulate(shuffled.begin(), shuffled.end(), std::uint64_t{0});
  }
  void prepare(std::uint64_t) {}
  template <class Sort>
  void run(const Sort& sort) {
    numbers = shuffled;
    sort(numbers);
  }
  bool right() const {
    for (std::size_t i = 1; i < numbers.size(); ++i) {
      if (numbers[i] < numbers[i - 1]) return false;
    }
    return numbers.size() == size &&
           std::accumulate(numbers.begin(), numbers.end(), std::uint64_t{0}) == sum;
  }
  Numbers shuffled, numbers;
  std::uint64_t sum = 0;
};

// The sum of what is worked out of every number.
struct Total {
  static constexpr std::size_t size = 100'000;
  Total() : numbers(size) { std::iota(numbers.begin(), numbers.end(), 0); }
  void prepare(std::uint64_t call) { numbers[0] = call; }
  template <class Reduce>
  void run(const Reduce& reduce) {
    total = reduce(numbers, worked);
  }
  bool right() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t each : numbers) sum += expected(each);
    return total == sum;
  }
  Numbers numbers;
  std::uint64_t total = 0;
};

// One problem, solved again and again: one thread by Serial, more by Parallel within their Limit.
template <class Problem, class Serial, class Parallel, class Limit = Own>
struct solved {
  explicit solved(unsigned many) : threads(many), limit(many) {}
  struct contender {
    contender(solved& all, unsigned) : shared(all) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) {
        problem.prepare(++calls);
        if (shared.threads == 1) {
          problem.run(Serial());
        } else {
          shared.limit.run([this] { problem.run(Parallel()); });
        }
      }
    }
    std::string check(std::uint64_t n) const {
      if (calls != n) return "calls were lost";
      return problem.right() ? "" : "the last call has a wrong result";
    }
    solved& shared;
    Problem problem;
    std::uint64_t calls = 0;
  };
  unsigned threads;
  Limit limit;
};

struct SerialLoop {
  template <class F>
  void operator()(Numbers& numbers, const F& body) const {
    std::for_each(numbers.begin(), numbers.end(), body);
  }
};
#if HAS_PARALLEL
struct ParLoop {
  template <class F>
  void operator()(Numbers& numbers, const F& body) const {
    std::for_each(std::execution::par, numbers.begin(), numbers.end(), body);
  }
};
#endif
struct SerialSort {
  void operator()(Numbers& numbers) const { std::sort(numbers.begin(), numbers.end()); }
};
#if HAS_PARALLEL
struct ParSort {
  void operator()(Numbers& numbers) const {
    std::sort(std::execution::par, numbers.begin(), numbers.end());
  }
};
#endif
struct SerialReduce {
  template <class F>
  std::uint64_t operator()(const Numbers& numbers, const F& body) const {
    return std::transform_reduce(numbers.begin(), numbers.end(), std::uint64_t{0}, std::plus<>(),
                                 body);
  }
};
#if HAS_PARALLEL
struct ParReduce {
  template <class F>
  std::uint64_t operator()(const Numbers& numbers, const F& body) const {
    return std::transform_reduce(std::execution::par, numbers.begin(), numbers.end(),
                                 std::uint64_t{0}, std::plus<>(), body);
  }
};
#endif

#if defined(HAS_TBB)
struct TbbLoop {
  template <class F>
  void operator()(Numbers& numbers, const F& body) const {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, numbers.size()), [&](const auto& part) {
      for (std::size_t i = part.begin(); i != part.end(); ++i) body(numbers[i]);
    });
  }
};
struct TbbSort {
  void operator()(Numbers& numbers) const { tbb::parallel_sort(numbers.begin(), numbers.end()); }
};
#endif

#if defined(HAS_TMK)
struct TmkLoop {
  template <class F>
  void operator()(Numbers& numbers, const F& body) const {
    tmk::parallel_for(numbers, body);
  }
};
#endif

constexpr std::string_view kLoop = "std::for_each of 100 000 numbers, par";
constexpr std::string_view kSort = "std::sort of 30 000 numbers, par";
constexpr std::string_view kReduce = "std::transform_reduce of 100 000 numbers, par";
#if !HAS_PARALLEL
constexpr std::string_view kNoParallel = "this library has no parallel algorithms; libc++ 18 has";
#endif
constexpr std::string_view kTbbLoop = "tbb::parallel_for over the same 100 000";
constexpr std::string_view kTbbSort = "tbb::parallel_sort of the same 30 000";
constexpr std::string_view kTmkLoop = "tmk::parallel_for over the same 100 000";

std::vector<bench::Way> ways() {
  using bench::Use;
  return {
#if HAS_PARALLEL
      bench::usual<solved<Every, SerialLoop, ParLoop, Arena>>("for_each", kLoop, Use::whole),
      bench::usual<solved<Order, SerialSort, ParSort, Arena>>("sort", kSort, Use::whole),
      bench::usual<solved<Total, SerialReduce, ParReduce, Arena>>("transform_reduce", kReduce,
                                                                  Use::whole),
#else
      bench::lacking("for_each", kLoop, kNoParallel),
      bench::lacking("sort", kSort, kNoParallel),
      bench::lacking("transform_reduce", kReduce, kNoParallel),
#endif
#if defined(HAS_TBB)
      bench::remedy<solved<Every, SerialLoop, TbbLoop, Arena>>("tbb_for", kTbbLoop, Use::whole),
      bench::remedy<solved<Order, SerialSort, TbbSort, Arena>>("tbb_sort", kTbbSort, Use::whole),
#else
      bench::lacking("tbb_for", kTbbLoop, "oneTBB is not there; its package brings it"),
      bench::lacking("tbb_sort", kTbbSort, "oneTBB is not there; its package brings it"),
#endif
#if defined(HAS_TMK)
      bench::remedy<solved<Every, SerialLoop, TmkLoop, Pool>>("tmk_for", kTmkLoop, Use::whole),
#else
      bench::lacking("tmk_for", kTmkLoop, "tmk needs Linux"),
#endif
  };
}

}  // namespace

CONTENTION_PROGRAM(.name = "parallel_algorithms",
                   .summary = "C++17's parallel algorithms, which may or may not be",
                   .operation = "one call of an algorithm",
                   .origin = "programs whose std::execution::par changed nothing", .ways = ways())
