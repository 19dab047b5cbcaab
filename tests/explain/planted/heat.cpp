// Spreads heat over a plate, step by step; each thread has a part of the rows.
//
// category: imbalance
// certain: yes
// why: The rows of the first thread are refined, so that the others wait for it at each barrier.

#include <barrier>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 4607000;
constexpr int columns = 256;
constexpr int rows = 240;
constexpr int refined_rows = 40;

using Plate = std::vector<std::uint32_t>;

std::uint64_t sweep_row(const Plate& from, Plate& to, int row, int passes) {
  std::uint64_t sum = 0;
  for (int pass = 0; pass < passes; ++pass) {
    for (int column = 1; column + 1 < columns; ++column) {
      const std::uint32_t* here = &from[row * columns + column];
      to[row * columns + column] = (here[-1] + 2 * here[0] + here[1] + pass) / 4;
    }
    sum += to[row * columns + pass % columns];
  }
  return sum;
}

[[gnu::noinline]] void solve(const Plate& from, Plate& to, int begin, int end, int stride,
                             int steps, std::barrier<>& step_done, std::uint64_t& result) {
  std::uint64_t sum = 0;
  for (int step = 0; step < steps; ++step) {
    for (int row = begin; row < end; row += stride) {
      sum += sweep_row(from, to, row, row < refined_rows ? 24 : 1);
    }
    step_done.arrive_and_wait();
  }
  result = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int steps = 2 + static_cast<int>(seconds * 6'100);
  Plate from(rows * columns);
  Plate to(from);
  std::iota(from.begin(), from.end(), 1U);
  std::barrier<> step_done(threads);
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
#ifdef WITHOUT_CAUSE
    const int begin = t, end = rows, stride = threads;
#else
    const int begin = rows * t / threads, end = rows * (t + 1) / threads, stride = 1;
#endif
    workers.emplace_back(solve, std::cref(from), std::ref(to), begin, end, stride, steps,
                         std::ref(step_done), std::ref(results[t]));
  }
  for (std::thread& each : workers) each.join();
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / steps));
  return total == expected * steps ? 0 : 1;
}
