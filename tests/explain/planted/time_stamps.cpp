// Writes the local time into the records of a log.
//
// category: mutex
// name: tz
// certain: yes
// why: localtime_r takes the one lock of the C library for time zones.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 100492;

[[gnu::noinline]] std::uint64_t stamp(std::time_t when) {
  std::tm parts{};
  localtime_r(&when, &parts);
  return static_cast<std::uint64_t>(parts.tm_hour * 60 + parts.tm_min + parts.tm_yday);
}

[[gnu::noinline]] void write_records(int first, int step, int rounds, std::uint64_t& result) {
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) {
    for (std::time_t record = 0; record < 100; ++record) sum += stamp(1'700'000'000 + record * 977);
  }
  result = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 180'000);
  setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
  tzset();
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back(write_records, t, threads, rounds, std::ref(results[t]));
  }
  for (std::thread& each : workers) each.join();
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
