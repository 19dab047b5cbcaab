// Settings of a program that its parts both change and read.
//
// category: rwlock
// name: settings_lock
// holder: change < run_part
// certain: yes
// why: The parts mostly change settings, each under the shared_mutex held exclusively.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "without.hpp"

namespace {

constexpr std::uint64_t expected = 507176;

SHARED std::shared_mutex settings_lock;
SHARED std::map<std::string, std::string> settings;

[[gnu::noinline]] std::uint64_t change(int number) {
  const std::unique_lock<std::shared_mutex> lock(settings_lock);
  const std::string key = "window.layout.column." + std::to_string(number);
  std::string& value = settings[key];
  value = key + "=" + std::to_string(number * number);
  std::uint64_t sum = 0;
  for (const char c : value) sum += static_cast<unsigned char>(c);
  return sum;
}

[[gnu::noinline]] std::uint64_t read_count() {
  const std::shared_lock<std::shared_mutex> lock(settings_lock);
  return settings.empty() ? 1 : 0;
}

[[gnu::noinline]] void run_part(int first, int step, int rounds, std::uint64_t& result) {
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) {
    for (int number = 0; number < 200; ++number) sum += change(number);
    sum += read_count();
  }
  result = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 30'000);
  std::vector<std::uint64_t> result(threads);
  std::vector<std::thread> parts;
  for (int t = 0; t < threads; ++t) {
    parts.emplace_back(run_part, t, threads, rounds, std::ref(result[t]));
  }
  for (std::thread& each : parts) each.join();
  const std::uint64_t total = std::accumulate(result.begin(), result.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
