// std::rand and its replacements. The process has one state, so that srand has a meaning, and the C
// library guards the state with a lock.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "contention.hpp"
#include "opaque.hpp"

namespace {

constexpr int kSides = 16;

// Throws a die of 16 sides with the numbers that Source gives, and counts each side.
template <class Source>
struct dice {
  explicit dice(unsigned) { std::srand(7); }
  struct contender {
    contender(dice&, unsigned thread) : source(thread) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) ++sides[source() % kSides];
    }
    // Pearson's statistic has mean 15 and variance 30: a good source stays far below 100.
    std::string check(std::uint64_t n) const {
      const double expected = static_cast<double>(n) / kSides;
      double sum = 0;
      std::uint64_t thrown = 0;
      for (const std::uint64_t side : sides) {
        thrown += side;
        sum += (static_cast<double>(side) - expected) * (static_cast<double>(side) - expected);
      }
      if (thrown != n) return "throws were lost";
      if (n < 160 || sum / expected < 100) return {};
      return "the die is loaded: Pearson's statistic is " + std::to_string(sum / expected);
    }
    Source source;
    std::uint64_t sides[kSides] = {};
  };
};

// High bits: rand's low ones may have short periods, and the top one is not always there.
struct Rand {
  explicit Rand(unsigned) {}
  unsigned operator()() const { return static_cast<unsigned>(std::rand()) >> 12; }
};

#if defined(__unix__)
struct Posix {
  explicit Posix(unsigned) {}
  unsigned operator()() const { return static_cast<unsigned>(::random()) >> 12; }
};
struct RandR {
  explicit RandR(unsigned thread) : state(thread + 1) {}
  unsigned operator()() { return static_cast<unsigned>(::rand_r(&state)) >> 12; }
  unsigned state;
};
#endif

struct Engine {
  explicit Engine(unsigned thread) : engine(thread + 1) {}
  unsigned operator()() { return static_cast<unsigned>(engine()) >> 12; }
  std::mt19937 engine;
};

// Found by way of its thread for each number, as in a function that takes no generator.
struct ThreadLocal {
  explicit ThreadLocal(unsigned thread) { engine().seed(thread + 1); }
  unsigned operator()() const { return static_cast<unsigned>(engine()()) >> 12; }
  static std::mt19937& engine() {
    static thread_local std::mt19937 one;
    return one;
  }
};

// Marsaglia, Xorshift RNGs, 2003: 64 bits with the shifts 13, 7, 17.
struct Xorshift {
  explicit Xorshift(unsigned thread) : state(0x9e3779b97f4a7c15 * (thread + 1)) {}
  unsigned operator()() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<unsigned>(state >> 44);
  }
  std::uint64_t state;
};

std::vector<bench::Way> ways() {
  return {
      bench::usual<dice<Rand>>("rand", "std::rand"),
#if defined(__unix__)
      bench::usual<dice<Posix>>("random", "POSIX random, with the same state"),
      bench::usual<dice<RandR>>("rand_r", "POSIX rand_r, with a state of its own"),
#else
      bench::lacking("random", "POSIX random, with the same state", "this system has no random"),
      bench::lacking("rand_r", "POSIX rand_r, with a state of its own",
                     "this system has no rand_r"),
#endif
      bench::remedy<dice<Engine>>("engine", "std::mt19937, one per thread"),
      bench::remedy<dice<ThreadLocal>>("thread_local_engine", "std::mt19937, thread_local"),
      bench::remedy<dice<Xorshift>>("xorshift", "xorshift, one per thread"),
  };
}

}  // namespace

CONTENTION_PROGRAM(.name = "rand", .summary = "threads draw random numbers with std::rand",
                   .operation = "one random number",
                   .origin = "programs that slow down with threads for the sake of a lock in rand",
                   .ways = ways())
