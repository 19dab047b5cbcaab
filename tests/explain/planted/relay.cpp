// Two or more threads work on a picture in turns, each its own kind of filter.
//
// category: spin | serial_dependency
// name: turn
// certain: any
// why: Whose turn it is stands in an atomic word that the others read in a loop.

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 56697618;

std::atomic<int> turn{0};

[[gnu::noinline]] std::uint64_t apply_filter(std::uint64_t pixel) {
  for (int i = 0; i < 20'000; ++i) pixel = (pixel ^ (pixel >> 7)) * 0x9e3779b97f4a7c15ULL;
  asm volatile("" : "+r"(pixel));  // else clang does the work once, before the turns
  return pixel >> 40;
}

[[gnu::noinline]] void take_turns(int first, int step, int rounds, std::uint64_t& result) {
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) {
#ifndef WITHOUT_CAUSE
    while (turn.load() != round) {
    }
#endif
    for (std::uint64_t pixel = 1; pixel <= 5; ++pixel) sum += apply_filter(pixel);
    turn.store(round + 1);
  }
  result = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 8'400);
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back(take_turns, t, threads, rounds, std::ref(results[t]));
  }
  for (std::thread& each : workers) each.join();
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
