// Draws mountains by a fractal, row by row, with rows as the tasks of a runtime.
//
// category: none
// certain: yes
// build: tbb
// why: A task is some hundred rows, and its work is far more than what a task costs.

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_reduce.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr std::uint64_t expected = 208899890;

[[gnu::noinline]] std::uint64_t draw_row(std::uint32_t row) {
  std::uint64_t height = 0;
  for (std::uint32_t x = 0; x < 400; ++x) {
    std::uint32_t point = row * 1000 + x + 1;
    for (int fold = 0; fold < 12; ++fold) point = (point ^ (point >> 6)) * 0x9e3779b1U;
    height += point >> 24;
  }
  return height;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int pictures = 2 + static_cast<int>(seconds * 110);
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
  std::uint64_t total = 0;
  for (int picture = 0; picture < pictures; ++picture) {
    total += tbb::parallel_reduce(
        tbb::blocked_range<std::uint32_t>(0, 4096, 64), std::uint64_t{0},
        [](const tbb::blocked_range<std::uint32_t>& rows, std::uint64_t sum) {
          for (std::uint32_t row = rows.begin(); row < rows.end(); ++row) sum += draw_row(row);
          return sum;
        },
        [](std::uint64_t one, std::uint64_t other) { return one + other; });
  }
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / pictures));
  return total == expected * pictures ? 0 : 1;
}
