// A cloud of stars, which pull at each other: every pair is looked at once in a step.
//
// category: imbalance
// holder: pull
// certain: any
// why: Threads have equally many stars, but the first stars have far more partners after them.

#include <barrier>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 180852312;
constexpr int stars = 1500;

struct Star {
  std::int32_t x, y, z, mass;
};

std::vector<Star> make_cloud() {
  std::vector<Star> cloud(stars);
  std::uint32_t seed = 88;
  const auto next = [&seed] {
    seed = seed * 1664525U + 1013904223U;
    return static_cast<std::int32_t>(seed >> 22);
  };
  for (Star& each : cloud) each = {next(), next(), next(), next() % 10 + 1};
  return cloud;
}

[[gnu::noinline]] std::uint64_t pull(const std::vector<Star>& cloud, int one) {
  std::uint64_t energy = 0;
  const Star& a = cloud[one];
  for (int other = one + 1; other < stars; ++other) {
    const Star& b = cloud[other];
    const std::uint32_t dx = a.x - b.x;
    const std::uint32_t dy = a.y - b.y;
    const std::uint32_t dz = a.z - b.z;
    const std::uint32_t distance = dx * dx + dy * dy + dz * dz + 1;
    energy += static_cast<std::uint32_t>(a.mass * b.mass) * 1'000'000U / distance;
  }
  return energy;
}

void move(const std::vector<Star>& cloud, std::barrier<>& moved, int me, int threads, int steps,
          std::uint64_t& out) {
  const int begin = stars * me / threads;
  const int end = stars * (me + 1) / threads;
  std::uint64_t energy = 0;
  for (int step = 0; step < steps; ++step) {
    for (int star = begin; star < end; ++star) energy += pull(cloud, star);
    moved.arrive_and_wait();
  }
  out = energy;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int steps = 1 + static_cast<int>(seconds * 800);
  const std::vector<Star> cloud = make_cloud();
  std::barrier<> moved(threads);
  std::vector<std::uint64_t> energy(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back(move, std::cref(cloud), std::ref(moved), t, threads, steps,
                         std::ref(energy[t]));
  }
  for (std::thread& each : workers) each.join();
  std::uint64_t total = 0;
  for (const std::uint64_t each : energy) total += each;
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / steps));
  return total == expected * steps ? 0 : 1;
}
