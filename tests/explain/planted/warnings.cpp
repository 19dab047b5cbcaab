// Checks records and reports on the error stream those that are wrong.
//
// category: stdio
// certain: yes
// why: All threads write to cerr, which has no buffer: each part of a line locks and writes.

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 822627813;

[[gnu::noinline]] std::uint64_t check(std::uint32_t record) {
  std::uint32_t digest = record;
  for (int i = 0; i < 20; ++i) digest = digest * 1664525 + 1013904223;
#ifdef WITHOUT_CAUSE
  thread_local std::ofstream messages("/dev/null");
#else
  std::ostream& messages = std::cerr;
#endif
  messages << "record " << record << " has digest " << digest << '\n';
  return digest >> 8;
}

[[gnu::noinline]] void check_all(int first, int step, int rounds, std::uint64_t& result) {
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) {
    for (std::uint32_t record = 0; record < 100; ++record) sum += check(record);
  }
  result = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 4'800);
  const int nowhere = open("/dev/null", O_WRONLY);
  dup2(nowhere, STDERR_FILENO);
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back(check_all, t, threads, rounds, std::ref(results[t]));
  }
  for (std::thread& each : workers) each.join();
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
