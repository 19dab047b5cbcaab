// Reads sensors: each reader waits until its sensor has a value, then filters the value.
//
// category: sleep
// certain: yes
// why: Readers look for a value, and the source for a free place, with sleeps between the looks.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 19443956;

struct Sensor {
  std::atomic<std::uint64_t> value{0};
};

void wait_a_little() { std::this_thread::sleep_for(std::chrono::microseconds(200)); }

[[gnu::noinline]] void read_sensor(Sensor& sensor, int values, std::uint64_t& result) {
  std::uint64_t sum = 0;
  for (int i = 0; i < values; ++i) {
    while (sensor.value == 0) wait_a_little();
    std::uint64_t filtered = sensor.value;
    for (int k = 0; k < 5000; ++k) filtered = (filtered ^ (filtered >> 7)) * 0x9e3779b97f4a7c15ULL;
    sum += filtered >> 40;
    sensor.value = 0;
  }
  result = sum;
}

[[gnu::noinline]] void produce(std::deque<Sensor>& sensors, int values) {
  for (int i = 0; i < values; ++i) {
    for (Sensor& each : sensors) {
      while (each.value != 0) wait_a_little();
      each.value = i % 5 + 1;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 510);
  std::deque<Sensor> sensors(threads);
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> readers;
  for (int t = 0; t < threads; ++t) {
    readers.emplace_back(read_sensor, std::ref(sensors[t]), 5 * rounds, std::ref(results[t]));
  }
  produce(sensors, 5 * rounds);
  for (std::thread& each : readers) each.join();
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds / threads));
  return total == expected * rounds * threads ? 0 : 1;
}
