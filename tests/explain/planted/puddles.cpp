// Rain on a small meadow: each moment is worked out from the one before, place by place.
//
// category: barrier | task_overhead
// certain: any
// build: openmp
// why: A moment has less than a microsecond of work, and a parallel loop of its own.

#include <omp.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace {

constexpr std::uint64_t expected = 13312;
constexpr int places = 1024;
constexpr int moments_of_shower = 5'000;

std::uint64_t shower() {
  std::vector<std::uint32_t> water(places, 1);
  std::vector<std::uint32_t> next(places);
  for (int moment = 0; moment < moments_of_shower; ++moment) {
    const std::uint32_t drop = moment % 7;
#pragma omp parallel for schedule(static)
    for (int i = 0; i < places; ++i) {
      next[i] = water[i] / 2 + drop + water[(i + 1) % places] / 3;
    }
    std::swap(water, next);
  }
  std::uint64_t sum = 0;
  for (const std::uint32_t each : water) sum += each;
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  omp_set_num_threads(threads);
  const int showers = 1 + static_cast<int>(seconds * 220);
  std::uint64_t total = 0;
  for (int i = 0; i < showers; ++i) total += shower();
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / showers));
  return total == expected * showers ? 0 : 1;
}
