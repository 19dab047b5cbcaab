// Simulates queues at counters and now and then adds to the statistics of all.
//
// category: none
// certain: yes
// why: The lock of the statistics is taken once in a millisecond and held for a few additions.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 18512049;

std::mutex statistics_mutex;
std::vector<std::uint64_t> statistics(4);

[[gnu::noinline]] void add_statistics(std::uint64_t served) {
  const std::lock_guard<std::mutex> lock(statistics_mutex);
  statistics[0] += served;
  statistics[1] += 1;
}

[[gnu::noinline]] std::uint64_t simulate_day(std::uint64_t seed) {
  for (int customer = 0; customer < 400'000; ++customer) {
    seed = (seed ^ (seed >> 7)) * 0x9e3779b97f4a7c15ULL;
  }
  return seed >> 40;
}

[[gnu::noinline]] void simulate(int first, int step, int rounds, std::uint64_t& result) {
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) {
    const std::uint64_t served = simulate_day(round % 4);
    add_statistics(served);
    sum += served;
  }
  result = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 4 * (2 + static_cast<int>(seconds * 1'000));
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back(simulate, t, threads, rounds, std::ref(results[t]));
  }
  for (std::thread& each : workers) each.join();
  if (statistics[1] != static_cast<std::uint64_t>(rounds)) return 1;
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / (rounds / 4)));
  return total == expected * (rounds / 4) ? 0 : 1;
}
