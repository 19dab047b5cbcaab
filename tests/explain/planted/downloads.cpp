// Fetches and unpacks files; the number of those that are unpacked at one time is limited.
//
// category: semaphore
// name: unpackers
// made: unpack
// holder: unpack < fetch_files
// certain: yes
// why: The semaphore has one permit, and nearly all work is done with it.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <semaphore>
#include <thread>
#include <vector>

#include "without.hpp"

namespace {

constexpr std::uint64_t expected = 67393413;

SHARED std::counting_semaphore<8> unpackers(1);

[[gnu::noinline]] std::uint64_t unpack(std::uint64_t file) {
  unpackers.acquire();
  for (int i = 0; i < 40'000; ++i) file = (file ^ (file >> 7)) * 0x9e3779b97f4a7c15ULL;
  unpackers.release();
  return file >> 40;
}

[[gnu::noinline]] void fetch_files(int first, int step, int rounds, std::uint64_t& result) {
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) {
    for (std::uint64_t file = 1; file <= 10; ++file) sum += unpack(file);
  }
  result = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 1'900);
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back(fetch_files, t, threads, rounds, std::ref(results[t]));
  }
  for (std::thread& each : workers) each.join();
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
