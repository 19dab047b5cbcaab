// Sells tickets at several desks of a station, as delivered without symbols.
//
// category: mutex
// certain: yes
// build: stripped
// why: All desks compute prices under one lock; the program has no names by which to say so.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include "without.hpp"

namespace {

constexpr std::uint64_t expected = 1594022400;

SHARED std::mutex prices_mutex;
SHARED std::vector<std::uint32_t> prices(512, 1);

[[gnu::noinline]] std::uint64_t sell_ticket(std::uint32_t town) {
  const std::lock_guard<std::mutex> lock(prices_mutex);
  std::uint32_t price = town;
  for (const std::uint32_t each : prices) price = price * 31 + each;
  prices[town % prices.size()] = 1;
  return price >> 8;
}

[[gnu::noinline]] void work(int first, int step, int rounds, std::uint64_t& result) {
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) {
    for (std::uint32_t town = 0; town < 200; ++town) sum += sell_ticket(town);
  }
  result = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 10'000);
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back(work, t, threads, rounds, std::ref(results[t]));
  }
  for (std::thread& each : workers) each.join();
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
