// std::random_device, one for each thread: the library chooses the source of its numbers, which may
// be a single source for the whole machine.
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "contention.hpp"
#include "opaque.hpp"

namespace {

constexpr std::uint64_t kHardlyEver = 1u << 28;
// On AMD Zen 5 rdseed may say that it had a number where it left the old one (AMD-SB-7055).
#if defined(__GLIBCXX__)
constexpr std::uint64_t kOfDevice = 100;
#else
constexpr std::uint64_t kOfDevice = kHardlyEver;
#endif

// Draws 32 bits at a time from Source, and counts those that are set. One in so many numbers may be
// the one before once more.
template <class Source, std::uint64_t RepeatsOneIn = kHardlyEver>
struct draws {
  explicit draws(unsigned) {}
  struct contender {
    contender(draws&, unsigned) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) {
        const auto drawn = static_cast<std::uint32_t>(source());
        ones += static_cast<std::uint64_t>(std::popcount(drawn));
        repeated += drawn == last;
        last = drawn;
      }
    }
    // Half of the bits are set, up to eight standard deviations, and hardly a number comes twice.
    std::string check(std::uint64_t n) const {
      const auto bits = static_cast<double>(32 * n);
      if (std::abs(static_cast<double>(ones) - bits / 2) > 8 * std::sqrt(bits) / 2) {
        return std::to_string(ones) + " of " + std::to_string(32 * n) + " bits are set";
      }
      return repeated <= 8 + n / RepeatsOneIn ? "" : "the same number again and again";
    }
    Source source;
    std::uint32_t last = 0;
    std::uint64_t ones = 0, repeated = 0;
  };
};

struct Made {  // for every number
  std::uint32_t operator()() const {
    std::random_device device;
    return device();
  }
};

struct Token {
  explicit Token(const char* token) : device(token) {}
  std::uint32_t operator()() { return device(); }
  std::random_device device;
};
struct Urandom : Token {
  Urandom() : Token("/dev/urandom") {}
};
#if defined(__GLIBCXX__)
struct Rdrand : Token {
  Rdrand() : Token("rdrand") {}
};
struct Getentropy : Token {
  Getentropy() : Token("getentropy") {}
};
#endif

// Seeded with what the device gives, once.
struct Engine {
  std::uint32_t operator()() { return static_cast<std::uint32_t>(engine()); }
  std::mt19937 engine = [] {
    std::random_device device;
    std::seed_seq seed{device(), device(), device(), device(), device(), device()};
    return std::mt19937(seed);
  }();
};

std::vector<bench::Way> ways() {
  return {
      bench::usual<draws<std::random_device, kOfDevice>>("random_device",
                                                         "std::random_device, one per thread"),
      bench::usual<draws<Made, kOfDevice>>("made_each_time",
                                           "std::random_device, made for each number"),
      bench::usual<draws<Urandom>>("urandom", "std::random_device(\"/dev/urandom\")"),
#if defined(__GLIBCXX__)
      bench::usual<draws<Rdrand>>("rdrand", "std::random_device(\"rdrand\")"),
      bench::usual<draws<Getentropy>>("getentropy", "std::random_device(\"getentropy\")"),
#else
      bench::lacking("rdrand", "std::random_device(\"rdrand\")", "this token is libstdc++'s"),
      bench::lacking("getentropy", "std::random_device(\"getentropy\")",
                     "this token is libstdc++'s"),
#endif
      bench::remedy<draws<Engine>>("engine", "std::mt19937, seeded once per thread"),
  };
}

}  // namespace

CONTENTION_PROGRAM(.name = "random_device",
                   .summary = "threads that each have a std::random_device",
                   .operation = "32 random bits",
                   .origin = "the usual source of seeds; some take every number from it",
                   .ways = ways())
