// A server of small files that is linked statically, to run in an empty container.
//
// category: mutex
// name: files_mutex
// holder: read_file < serve
// certain: yes
// build: static
// why: Each request packs its file under the one lock of all files.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "without.hpp"

namespace {

constexpr std::uint64_t expected = 465249488;

SHARED std::mutex files_mutex;
SHARED std::map<int, std::string> files;

[[gnu::noinline]] std::uint64_t read_file(int number) {
  const std::lock_guard<std::mutex> lock(files_mutex);
  std::string& text = files[number];
  if (text.empty()) text.assign(4096, static_cast<char>('a' + number % 26));
  std::uint32_t packed = 1;
  for (const char c : text) packed = (packed ^ static_cast<unsigned char>(c)) * 16777619;
  return packed >> 8;
}

[[gnu::noinline]] void serve(int first, int step, int rounds, std::uint64_t& result) {
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) {
    for (int number = 0; number < 50; ++number) sum += read_file(number);
  }
  result = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 4500);
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back(serve, t, threads, rounds, std::ref(results[t]));
  }
  for (std::thread& each : workers) each.join();
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
