// A toll bridge: how many vehicles are on it is counted, lest they be too heavy together.
//
// category: atomic
// name: load | Bridge | bridge
// certain: yes
// why: Each vehicle adds its weight to one atomic load as it comes and takes it away as it leaves.

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "without.hpp"

namespace {

constexpr std::uint64_t expected = 842291;

class Bridge {
 public:
  class Crossing {
   public:
    Crossing(Bridge& bridge, long weight) : bridge_(bridge), weight_(weight) {
      bridge_.load_ += weight_;
    }
    ~Crossing() { bridge_.load_ -= weight_; }
    Crossing(const Crossing&) = delete;
    Crossing& operator=(const Crossing&) = delete;

   private:
    Bridge& bridge_;
    long weight_;
  };
  bool empty() const { return load_ == 0; }

 private:
  std::atomic<long> load_{0};
};

SHARED Bridge bridge;

[[gnu::noinline]] std::uint64_t cross(std::uint32_t vehicle) {
  const Bridge::Crossing crossing(bridge, vehicle % 40 + 1);
  for (int axle = 0; axle < 4; ++axle) vehicle = (vehicle ^ (vehicle >> 5)) * 0x9e3779b1U;
  return vehicle >> 20;
}

void take_tolls(int first, int step, int days, std::uint64_t& tolls) {
  std::uint64_t sum = 0;
  for (int day = first; day < days; day += step) {
    for (std::uint32_t vehicle = 0; vehicle < 400; ++vehicle) sum += cross(vehicle);
  }
  tolls = bridge.empty() || step > 1 ? sum : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int days = 2 + static_cast<int>(seconds * 75'000);
  std::vector<std::uint64_t> tolls(threads);
  std::vector<std::thread> lanes;
  for (int t = 0; t < threads; ++t) {
    lanes.emplace_back(take_tolls, t, threads, days, std::ref(tolls[t]));
  }
  for (std::thread& each : lanes) each.join();
  std::uint64_t total = 0;
  for (const std::uint64_t each : tolls) total += each;
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / days));
  return bridge.empty() && total == expected * days ? 0 : 1;
}
