// Times the programs of this folder: they use TBB or OpenMP directly, without the contract of
// bench.hpp, and bench/backends is measured against them. Usage: EXECUTABLE THREADS
// REPEATS PARAMETER..., in the order that the suite's program describes them. Prints the
// nanoseconds of each repeat, after one that does not count.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace byhand {

struct Options {
  int threads;
  int repeats;
  std::vector<long> parameters;
  Options(int argc, char** argv) : threads(std::atoi(argv[1])), repeats(std::atoi(argv[2])) {
    for (int i = 3; i < argc; ++i) parameters.push_back(std::atol(argv[i]));
  }
};

inline constexpr int wrong = 3;  // exit status, as in the suite's programs

// check() returns whether the answer is right. Returns main's result.
int measure(const Options& options, auto&& clear, auto&& run, auto&& check) {
  for (int repeat = 0; repeat <= options.repeats; ++repeat) {
    clear();
    const auto start = std::chrono::steady_clock::now();
    run();
    const std::chrono::nanoseconds time = std::chrono::steady_clock::now() - start;
    if (!check()) return wrong;
    if (repeat > 0) std::printf("%lld\n", static_cast<long long>(time.count()));
  }
  return EXIT_SUCCESS;
}

}  // namespace byhand
