// may use: tmk : tmk::tmk : HAS_TMK
// A promise, its future, one value through them: the shared state has its own locks, flags and
// memory, and each is made anew although no other thread ever sees it.
#include <atomic>
#include <cstdint>
#include <future>
#include <string>
#include <vector>

#include "contention.hpp"
#include "opaque.hpp"

#if defined(HAS_TMK)
#include <tmk/promise.hpp>
#endif

namespace {

// Sends 1, 2, 3 ... through Channel, a callable that returns what arrives.
template <class Channel>
struct values {
  explicit values(unsigned) {}
  struct contender {
    contender(values&, unsigned) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) sum += channel(bench::opaque(++sent));
    }
    std::string check(std::uint64_t n) const {
      return sum == n * (n + 1) / 2 ? "" : "what arrived is not what was sent";
    }
    Channel channel;
    std::uint64_t sent = 0, sum = 0;
  };
};

template <template <class> class Promise>
struct ThroughPromise {
  std::uint64_t operator()(std::uint64_t value) const {
    Promise<std::uint64_t> promise;
    auto future = promise.get_future();
    promise.set_value(value);
    return future.get();
  }
};

struct ThroughTask {
  std::uint64_t operator()(std::uint64_t value) const {
    std::packaged_task<std::uint64_t()> task([value] { return value; });
    auto future = task.get_future();
    task();
    return future.get();
  }
};

// What a future with one sender and one receiver needs at least, in memory that is there already.
struct ThroughAtomic {
  std::uint64_t operator()(std::uint64_t value) {
    sent = value;
    ready.store(1);
    ready.notify_one();
    if (ready.load() == 0) ready.wait(0);  // libstdc++'s wait first counts itself where all do
    ready.store(0);
    return sent;
  }
  std::atomic<int> ready{0};  // only for int are notify and wait without a table of everybody's
  std::uint64_t sent = 0;
};

std::vector<bench::Way> ways() {
  return {
      bench::usual<values<ThroughPromise<std::promise>>>("promise", "std::promise"),
      bench::usual<values<ThroughTask>>("packaged_task", "std::packaged_task"),
#if defined(HAS_TMK)
      bench::remedy<values<ThroughPromise<tmk::promise>>>("tmk_promise", "tmk::promise"),
#else
      bench::lacking("tmk_promise", "tmk::promise", "tmk needs Linux"),
#endif
      bench::remedy<values<ThroughAtomic>>("atomic", "a value and an atomic flag, kept"),
  };
}

}  // namespace

CONTENTION_PROGRAM(.name = "future_roundtrip",
                   .summary = "promises and futures that no two threads share",
                   .operation = "make a promise and its future, set a value, get it",
                   .origin = "the cost of std::future; it is the channel of every std::async",
                   .ways = ways())
