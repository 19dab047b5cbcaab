// The reference of every measurement: an operation that cannot contend and one that must. A machine
// on which the first does not scale cannot judge any other.
#include <atomic>
#include <cstdint>
#include <string>

#include "contention.hpp"

namespace {

std::uint64_t step(std::uint64_t x) { return x * 6364136223846793005U + 1442695040888963407U; }

// A chain of multiplications in registers.
struct arithmetic {
  explicit arithmetic(unsigned) {}
  struct contender {
    contender(arithmetic&, unsigned) {}
    void run(std::uint64_t n) {
      std::uint64_t x = bench::opaque(value);
      for (; n != 0; --n) x = bench::opaque(step(x));
      value = x;
    }
    // n steps at once: x -> a^n x + c (a^n - 1) / (a - 1), by squaring the step.
    std::string check(std::uint64_t n) const {
      std::uint64_t factor = 1, sum = 0, a = 6364136223846793005U, c = 1442695040888963407U;
      for (; n != 0; n >>= 1) {
        if (n & 1) {
          factor *= a;
          sum = sum * a + c;
        }
        c *= a + 1;
        a *= a;
      }
      return value == factor + sum ? "" : "the chain of multiplications has another end";
    }
    std::uint64_t value = 1;
  };
};

struct shared_atomic {
  explicit shared_atomic(unsigned) {}
  struct contender {
    contender(shared_atomic& all, unsigned) : count(all.count) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) count.fetch_add(1);
    }
    std::string check(std::uint64_t) const { return {}; }  // only all of them together are known
    std::atomic<std::uint64_t>& count;
  };
  std::string check(std::uint64_t n) const {
    return count.load() == n ? "" : "increments were lost";
  }
  std::atomic<std::uint64_t> count{0};
};

}  // namespace

CONTENTION_PROGRAM(.name = "calibration",
                   .summary = "an operation that cannot contend, and one that must",
                   .operation = "one step of a computation",
                   .origin = "Threadmark: what the others are held against",
                   .ways = {
                       bench::usual<arithmetic>("arithmetic", "a multiplication in registers"),
                       bench::usual<shared_atomic>(
                           "shared_atomic", "an increment of one counter that all threads share"),
                   })
