// Adds up the lanes of a table; each thread adds to the field of the totals that is its own.
//
// category: false_sharing | none
// name: totals
// certain: any
// threads: 1,2
// why: Totals side by side are written for each value; processors with one cache lose nothing.

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 499500;

#ifdef WITHOUT_CAUSE
constexpr std::size_t stride = 16;
#else
constexpr std::size_t stride = 1;
#endif

alignas(128) std::array<std::uint64_t, 8 * stride> totals{};

[[gnu::noinline]] void add(std::uint64_t* total, std::uint32_t value) {
  total[0] += value;
  __asm__("" ::: "memory");  // each step of a total is stored
  total[0] ^= value << 3;
  __asm__("" ::: "memory");
  total[0] ^= value << 3;
}

[[gnu::noinline]] void add_lanes(int first, int step, int rounds, std::uint64_t& result) {
  std::uint64_t* total = &totals[first % 8 * stride];
  for (int round = first; round < rounds; round += step) {
    for (std::uint32_t value = 0; value < 1000; ++value) add(total, value);
  }
  result = *total;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 250'000);
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back(add_lanes, t, threads, rounds, std::ref(results[t]));
  }
  for (std::thread& each : workers) each.join();
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
