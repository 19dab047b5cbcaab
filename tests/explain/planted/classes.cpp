// Sorts numbers into classes and counts each class; every thread has its own counters.
//
// category: false_sharing
// name: tallies
// certain: any
// why: The counters of the threads are atomic words of one cache line.

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 1499;

#ifdef WITHOUT_CAUSE
struct alignas(128) Tally : std::atomic<std::uint64_t> {};
#else
using Tally = std::atomic<std::uint64_t>;
#endif

std::array<Tally, 8> tallies{};

[[gnu::noinline]] void count(int thread, std::uint32_t number) {
  if (number * 2654435761U >> 31 == 0) tallies[thread % 8].fetch_add(1, std::memory_order_relaxed);
  tallies[thread % 8].fetch_add(number % 3, std::memory_order_relaxed);
}

[[gnu::noinline]] void classify(int first, int step, int rounds, std::uint64_t& result) {
  const std::uint64_t before = tallies[first % 8];
  for (int round = first; round < rounds; round += step) {
    for (std::uint32_t number = 0; number < 1000; ++number) count(first, number);
  }
  result = tallies[first % 8] - before;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 89'000);
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back(classify, t, threads, rounds, std::ref(results[t]));
  }
  for (std::thread& each : workers) each.join();
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
