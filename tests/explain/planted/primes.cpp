// Counts the primes of several ranges of numbers.
//
// category: affinity
// certain: yes
// why: All threads are bound to the first processor that the program may use.

#include <pthread.h>
#include <sched.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 787;

[[maybe_unused]] void stay_near_memory() {
  cpu_set_t allowed;
  pthread_getaffinity_np(pthread_self(), sizeof allowed, &allowed);
  int first = 0;
  while (CPU_ISSET(first, &allowed) == 0) ++first;
  CPU_ZERO(&allowed);
  CPU_SET(first, &allowed);
  pthread_setaffinity_np(pthread_self(), sizeof allowed, &allowed);
}

[[gnu::noinline]] std::uint64_t count_primes(std::uint32_t begin, std::uint32_t end) {
  std::uint64_t found = 0;
  for (std::uint32_t number = begin; number < end; ++number) {
    bool prime = number % 2 != 0;
    for (std::uint32_t d = 3; prime && d * d <= number; d += 2) prime = number % d != 0;
    found += prime ? 1 : 0;
  }
  return found;
}

[[gnu::noinline]] void count(int first, int step, int rounds, std::uint64_t& result) {
#ifndef WITHOUT_CAUSE
  stay_near_memory();
#endif
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) {
    const auto begin = static_cast<std::uint32_t>(10'000 * (round % 4 + 1));
    sum += count_primes(begin, begin + 2000);
  }
  result = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 4 * (2 + static_cast<int>(seconds * 7'800));
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back(count, t, threads, rounds, std::ref(results[t]));
  }
  for (std::thread& each : workers) each.join();
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / (rounds / 4)));
  return total == expected * (rounds / 4) ? 0 : 1;
}
