// An ocean model in strips: a strip with much water has more to compute than one with much land.
//
// category: imbalance
// certain: any
// why: The first strip holds most of the water, and all threads meet at a barrier in each step.

#include <barrier>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr int columns = 960;
constexpr int iterations_of_water = 60;

struct Column {
  double height = 0.5;
  bool water = false;
};

class Ocean {
 public:
  Ocean() : sea_(columns) {
    // The west is open sea, the east has lakes.
    for (int c = 0; c < columns; ++c) sea_[c].water = c < columns / 2 || c % 7 == 0;
  }

  // Columns of a strip are strip, strip + strips... or one block.
  int column_of(int index, int strip, int strips) const {
#ifdef WITHOUT_CAUSE
    return index * strips + strip;
#else
    return strip * (columns / strips) + index % (columns / strips);
#endif
  }

  std::uint64_t step(int strip, int strips) {
    std::uint64_t wet = 0;
    for (int index = 0; index < columns / strips; ++index) {
      Column& column = sea_[column_of(index, strip, strips)];
      if (!column.water) continue;
      column.height = settle(column.height);
      ++wet;
    }
    return wet;
  }

  std::uint64_t water() const {
    std::uint64_t count = 0;
    for (const Column& each : sea_) count += each.water ? 1 : 0;
    return count;
  }

 private:
  [[gnu::noinline]] static double settle(double height) {
    for (int i = 0; i < iterations_of_water; ++i) height = std::cos(height) * 0.9 + 0.05;
    return height;
  }
  std::vector<Column> sea_;
};

struct NextStep {
  int* steps_done;
  void operator()() noexcept { ++*steps_done; }
};

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int steps = 2 + static_cast<int>(seconds * 2'200);
  if (columns % threads != 0) return 2;
  Ocean ocean;
  int steps_done = 0;
  std::barrier<NextStep> all_strips(threads, NextStep{&steps_done});
  std::vector<std::uint64_t> wet(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      for (int step = 0; step < steps; ++step) {
        wet[t] += ocean.step(t, threads);
        all_strips.arrive_and_wait();
      }
    });
  }
  for (std::thread& each : workers) each.join();
  const std::uint64_t total = std::accumulate(wet.begin(), wet.end(), std::uint64_t{0});
  std::printf("%llu columns of water, %d steps\n", static_cast<unsigned long long>(total),
              steps_done);
  return total == ocean.water() * steps && steps_done == steps ? 0 : 1;
}
