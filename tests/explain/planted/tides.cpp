// The water of a bay, step by step; the height of the tide at its mouth is computed between steps.
//
// category: serial_dependency
// holder: sea_level
// certain: any
// build: openmp
// why: The master thread alone sums up the tide's waves while the team waits at a barrier.

#include <omp.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace {

constexpr int size = 480;

using Water = std::vector<double>;

void row(const Water& from, Water& to, int y, double level) {
  for (int x = 0; x < size; ++x) {
    const double left = x > 0 ? from[y * size + x - 1] : level;
    const double right = x + 1 < size ? from[y * size + x + 1] : from[y * size + x];
    const double above = from[(y > 0 ? y - 1 : y) * size + x];
    const double below = from[(y + 1 < size ? y + 1 : y) * size + x];
    to[y * size + x] = 0.24 * (left + right + above + below) + 0.04 * std::sqrt(from[y * size + x]);
  }
}

[[gnu::noinline]] double sea_level(int step) {
  double level = 4;
  for (int wave = 1; wave <= 30'000; ++wave) level += std::sin(0.01 * step * wave) / wave;
  return level;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int steps = 2 + static_cast<int>(seconds * 1'000);
  Water bay(size * size, 4.0);
  Water next(bay);
  double level = 4;
#pragma omp parallel num_threads(threads)
  for (int step = 0; step < steps; ++step) {
#pragma omp for schedule(static)
    for (int y = 0; y < size; ++y) row(bay, next, y, level);
#pragma omp master
    {
      level = sea_level(step);
      std::swap(bay, next);
    }
#pragma omp barrier
  }
  std::printf("level %.6f, middle %.6f\n", level, bay[size * size / 2]);
  return level > 0 ? 0 : 1;
}
