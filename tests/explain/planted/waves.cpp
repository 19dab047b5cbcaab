// Simulates waves on strings of different length; all strings advance one step together.
//
// category: imbalance
// certain: yes
// why: The strings are dealt by number, and the long ones all fall to the last thread.

#include <pthread.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 144491862;
constexpr int strings = 16;

pthread_barrier_t all_advanced;

int length_of(int number) { return 200 + (number >= strings / 2 ? 30 * number * number : 0); }

[[gnu::noinline]] std::uint64_t advance(int number, std::uint64_t seed) {
  std::uint64_t value = seed;
  for (int i = 0; i < length_of(number); ++i)
    value = (value ^ (value >> 7)) * 0x9e3779b97f4a7c15ULL;
  return value >> 40;
}

[[gnu::noinline]] void simulate(int begin, int end, int stride, int steps, std::uint64_t& result) {
  std::uint64_t sum = 0;
  for (int step = 0; step < steps; ++step) {
    for (int number = begin; number < end; number += stride) sum += advance(number, number + 1);
    pthread_barrier_wait(&all_advanced);
  }
  result = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int steps = 2 + static_cast<int>(seconds * 19'000);
  pthread_barrier_init(&all_advanced, nullptr, threads);
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
#ifdef WITHOUT_CAUSE
    const int begin = t, end = strings, stride = threads;
#else
    const int begin = strings * t / threads, end = strings * (t + 1) / threads, stride = 1;
#endif
    workers.emplace_back(simulate, begin, end, stride, steps, std::ref(results[t]));
  }
  for (std::thread& each : workers) each.join();
  pthread_barrier_destroy(&all_advanced);
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / steps));
  return total == expected * steps ? 0 : 1;
}
