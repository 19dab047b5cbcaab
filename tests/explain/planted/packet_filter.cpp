// Filters packets by simple rules and counts those that were seen.
//
// category: atomic
// name: packets_seen
// certain: yes
// why: All threads add to one atomic counter for each packet, whose rules are quickly looked up.

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

#include "without.hpp"

namespace {

constexpr std::uint64_t expected = 938;

SHARED std::atomic<std::uint64_t> packets_seen{0};

[[gnu::noinline]] std::uint64_t filter(std::uint32_t packet) {
  packets_seen.fetch_add(1);
  return (packet * 2654435761U >> 28) == 0 ? 0 : 1;
}

[[gnu::noinline]] void filter_all(int first, int step, int rounds, std::uint64_t& result) {
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) {
    for (std::uint32_t packet = 0; packet < 1000; ++packet) sum += filter(packet);
  }
  result = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 140'000);
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back(filter_all, t, threads, rounds, std::ref(results[t]));
  }
  for (std::thread& each : workers) each.join();
#ifndef WITHOUT_CAUSE
  if (packets_seen != 1000ULL * rounds) return 1;
#endif
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
