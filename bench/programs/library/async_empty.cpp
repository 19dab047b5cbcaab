// may use: tmk : tmk::tmk : HAS_TMK
// std::async of an empty call, which measures each standard library's launch and the way back.
#include <cstdint>
#include <future>
#include <string>
#include <vector>

#include "contention.hpp"
#include "opaque.hpp"

#if defined(HAS_TMK)
#include <tmk/async.hpp>
#include <tmk/fork_join.hpp>
#endif

namespace {

template <class Launch>
struct calls {
  explicit calls(unsigned) { (void)Launch()(0); }  // a pool is made by one thread, once
  struct contender {
    contender(calls&, unsigned) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) sum += Launch()(bench::opaque(++made));
    }
    std::string check(std::uint64_t n) const {
      return sum == n * (n + 1) / 2 ? "" : "the calls returned something else";
    }
    std::uint64_t made = 0, sum = 0;
  };
};

template <std::launch... policy>
struct Std {
  std::uint64_t operator()(std::uint64_t value) const {
    return std::async(policy..., [value] { return value; }).get();
  }
};

#if defined(HAS_TMK)
struct Tmk {
  std::uint64_t operator()(std::uint64_t value) const {
    return tmk::async([value] { return value; }).get();
  }
};
struct TmkForkJoin {
  std::uint64_t operator()(std::uint64_t value) const {
    const auto [one, other] =
        tmk::fork_join([value] { return value - value / 2; }, [value] { return value / 2; });
    return one + other;
  }
};
#endif

std::vector<bench::Way> ways() {
  return {
      bench::usual<calls<Std<std::launch::async>>>("launch_async", "std::launch::async"),
      bench::usual<calls<Std<>>>("default_policy", "std::async without a policy"),
      bench::usual<calls<Std<std::launch::deferred>>>(
          "deferred", "std::launch::deferred: the call runs in get, no thread is started"),
#if defined(HAS_TMK)
      bench::remedy<calls<Tmk>>("tmk_async", "tmk::async, on a pool"),
      bench::remedy<calls<TmkForkJoin>>("tmk_fork_join", "tmk::fork_join of two halves"),
#else
      bench::lacking("tmk_async", "tmk::async, on a pool", "tmk needs Linux"),
      bench::lacking("tmk_fork_join", "tmk::fork_join of two halves", "tmk needs Linux"),
#endif
  };
}

}  // namespace

CONTENTION_PROGRAM(.name = "async_empty",
                   .summary = "threads give calls of their own to std::async",
                   .operation = "launch a call that returns a number, and get it",
                   .origin = "std::async as the first thing that one tries", .ways = ways())
