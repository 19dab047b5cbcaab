// Each thread counts in a variable of its own; those of several threads lie on one line, which only
// one processor can write at a time.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "contention.hpp"

namespace {

using Counter = std::atomic<std::uint64_t>;

// Only its thread writes it: a load and a store, which a reader of statistics may watch.
void count(Counter& counter) {
  // ORDER count: relaxed, owner-only: other threads only read.
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

// kApart bytes from one thread's counter to that of the next.
template <std::size_t kApart, bool kLocked>
struct counters {
  static constexpr std::size_t kEach = 1024 / kApart;  // a block begins on a line
  struct alignas(kApart) Place {
    Counter counter{0};
  };
  static_assert(sizeof(Place) == kApart);
  struct alignas(1024) Block {
    std::array<Place, kEach> places;
  };
  explicit counters(unsigned threads) : blocks((threads + kEach - 1) / kEach) {}

  struct contender {
    contender(counters& all, unsigned thread)
        : counter(all.blocks[thread / kEach].places[thread % kEach].counter) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) {
        if constexpr (kLocked) {
          counter.fetch_add(1);
        } else {
          count(counter);
        }
      }
    }
    std::string check(std::uint64_t n) const {
      return counter.load() == n ? "" : "counts were lost";
    }
    Counter& counter;
  };
  std::vector<Block> blocks;
};

// Counts in a variable of the function, and adds that once.
struct local {
  explicit local(unsigned threads) : shared(threads) {}
  struct contender : counters<8, false>::contender {
    contender(local& all, unsigned thread) : counters<8, false>::contender(all.shared, thread) {}
    void run(std::uint64_t n) {
      std::uint64_t counted = 0;
      for (; n != 0; --n) counted = bench::opaque(counted + 1);
      counter.fetch_add(counted);
    }
  };
  counters<8, false> shared;
};

}  // namespace

CONTENTION_PROGRAM(
        .name = "false_sharing", .summary = "counters of several threads that lie on one line",
        .operation = "count in a variable of the thread's own",
        .origin =
            "Bolosky and Scott, False Sharing and its Effect on Shared Memory Performance, 1993",
        .ways = {
            bench::usual<counters<8, true>>("neighbours", "fetch_add, one beside the other"),
            bench::usual<counters<64, true>>("next_line",
                                             "fetch_add, each on its own line of 64 bytes"),
            bench::usual<counters<8, false>>("plain", "a load and a store, one beside the other"),
            bench::usual<counters<128, false>>("plain_padded", "a load and a store, on own lines"),
            bench::remedy<counters<128, true>>("padded",
                                               "fetch_add, each on its own pair of lines"),
            bench::remedy<local>("local", "in a variable of the function, added at the end"),
        })
