// Finds the highest water at gauges; every reading is compared with the record so far.
//
// category: atomic
// name: record
// certain: yes
// why: Each reading, higher or not, writes the sum of all by a loop of compare_exchange.

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "without.hpp"

namespace {

constexpr std::uint64_t expected = 1440;

// The highest reading in the upper half, how many there were in the lower.
SHARED std::atomic<std::uint64_t> record{0};
std::atomic<std::uint64_t> readings{0};

[[gnu::noinline]] void note(std::uint64_t height) {
  std::uint64_t before = record.load();
  std::uint64_t after = 0;
  do {
    const std::uint64_t highest = before >> 32 > height ? before >> 32 : height;
    after = highest << 32 | ((before + 1) & 0xffffffffU);
  } while (!record.compare_exchange_weak(before, after));
}

void gauge(int number, int gauges, int days) {
  for (int day = number; day < days; day += gauges) {
    std::uint64_t water = 100 + day % 10;
    for (int minute = 0; minute < 1440; ++minute) {
      water += minute % 720 < 360 ? 3 : -3;
      note(water);
    }
  }
#ifdef WITHOUT_CAUSE
  readings += record.load() & 0xffffffffU;
#endif
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int days = 10 * (1 + static_cast<int>(seconds * 3'000));
  std::vector<std::thread> gauges;
  for (int t = 1; t < threads; ++t) gauges.emplace_back(gauge, t, threads, days);
  gauge(0, threads, days);  // this thread has a gauge too
  for (std::thread& each : gauges) each.join();
#ifndef WITHOUT_CAUSE
  readings = record.load() & 0xffffffffU;
#endif
  std::printf("checksum %llu\n", static_cast<unsigned long long>(readings.load() / days));
  return readings == expected * days ? 0 : 1;
}
