// std::getenv, which threads may call at the same time as long as none sets a variable: the
// function looks through the whole environment each time.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "contention.hpp"
#include "opaque.hpp"

namespace {

constexpr char kName[] = "THREADMARK_GETENV";
constexpr char kValue[] = "some text";

// Sets the variable, behind `others` of them.
struct environment {
  explicit environment(int others) {
    for (int i = 0; i < others; ++i) {
      ::setenv((std::string(kName) + "_" + std::to_string(i)).c_str(), "x", 1);
    }
    ::unsetenv(kName);  // so that it is the last
    ::setenv(kName, kValue, 1);
  }
};

template <int others, class Look>
struct lookups : environment {
  explicit lookups(unsigned) : environment(others) {}
  struct contender {
    contender(lookups&, unsigned) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) {
        const char* const text = look(bench::opaque(&kName[0]));
        if (text != nullptr) {
          last = text;
          ++found;
        }
      }
    }
    std::string check(std::uint64_t n) const {
      if (found != n) return "the variable was not found";
      return std::string(last) == kValue ? "" : "the variable has another value";
    }
    Look look;
    const char* last = "";
    std::uint64_t found = 0;
  };
};

struct Getenv {
  const char* operator()(const char* name) const { return std::getenv(name); }
};

struct ReadOnce {
  const char* operator()(const char* name) const {
    return name == &kName[0] ? value.c_str() : nullptr;
  }
  std::string value = std::getenv(kName);
};

}  // namespace

CONTENTION_PROGRAM(
        .name = "getenv", .summary = "threads look at the environment",
        .operation = "the value of one variable",
        .origin = "a function known for not being safe: does it also not scale?",
        .ways = {
            bench::usual<lookups<10, Getenv>>("getenv", "std::getenv, ten others before"),
            bench::usual<lookups<200, Getenv>>("getenv_200", "std::getenv, 200 others before"),
            bench::remedy<lookups<10, ReadOnce>>("read_once", "a copy made when the thread began"),
        })
