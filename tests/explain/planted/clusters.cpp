// Groups points around centres: k-means, with sums that each thread keeps for itself.
//
// category: none
// certain: yes
// why: Threads meet only when the program ends; their sums are private until then.

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 1000;

struct Point {
  float x;
  float y;
};

std::uint64_t group_points(const std::vector<Point>& points) {
  std::array<Point, 8> centres{};
  for (std::size_t k = 0; k < centres.size(); ++k) centres[k] = points[k * 31];
  std::array<std::uint64_t, 8> members{};
  for (int step = 0; step < 4; ++step) {
    std::array<Point, 8> sums{};
    members.fill(0);
    for (const Point& each : points) {
      std::size_t nearest = 0;
      float best = 1e30F;
      for (std::size_t k = 0; k < centres.size(); ++k) {
        const float dx = each.x - centres[k].x;
        const float dy = each.y - centres[k].y;
        if (dx * dx + dy * dy < best) {
          best = dx * dx + dy * dy;
          nearest = k;
        }
      }
      sums[nearest].x += each.x;
      sums[nearest].y += each.y;
      members[nearest] += 1;
    }
    for (std::size_t k = 0; k < centres.size(); ++k) {
      const auto count = static_cast<float>(members[k] == 0 ? 1 : members[k]);
      centres[k] = {sums[k].x / count, sums[k].y / count};
    }
  }
  return std::accumulate(members.begin(), members.end(), std::uint64_t{0});
}

[[gnu::noinline]] void group(int first, int step, int rounds, std::uint64_t& result) {
  std::vector<Point> points(1000);
  std::uint32_t state = 1;
  for (Point& each : points) {
    state = state * 1664525 + 1013904223;
    each = {static_cast<float>(state >> 20), static_cast<float>(state >> 8 & 0xfff)};
  }
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) sum += group_points(points);
  result = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 98'000);
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back(group, t, threads, rounds, std::ref(results[t]));
  }
  for (std::thread& each : workers) each.join();
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
