// Colours pictures by palettes, each a static of the function that gives it.
//
// category: once
// name: made | palette
// holder: make_palette < palette < colour
// certain: yes
// why: All threads come to the same new palette, and wait at the guard of the static variable.

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr std::uint64_t expected = 170038407540;
using Palette = std::array<std::uint32_t, 64>;

int passes = 0;

[[gnu::noinline]] Palette make_palette(std::uint32_t number) {
  Palette palette{};
  for (int pass = 0; pass < passes; ++pass) {
    std::uint32_t state = number + 1 + (pass > 0 && palette.back() == 0 ? 1 : 0);
    for (std::uint32_t& each : palette) {
      for (int i = 0; i < 8; ++i) state = (state ^ (state >> 7)) * 0x9e3779b1U;
      each = state >> 8;
    }
  }
  return palette;
}

template <std::uint32_t Number>
[[gnu::noinline]] const Palette& palette() {
  static const Palette made = make_palette(Number);
  return made;
}

template <std::uint32_t... Numbers>
[[gnu::noinline]] std::uint64_t colour(int dots, std::integer_sequence<std::uint32_t, Numbers...>) {
  std::uint64_t sum = 0;
  const auto paint = [&](const Palette& colours) {
    for (int dot = 0; dot < dots; ++dot) sum += colours[dot % 64];
  };
  (paint(palette<Numbers>()), ...);
  return sum;
}

void work(int dots, std::uint64_t& result) {
  result = colour(dots, std::make_integer_sequence<std::uint32_t, 32>());
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  passes = 1 + static_cast<int>(seconds * 60'000);
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) workers.emplace_back(work, 640, std::ref(results[t]));
  for (std::thread& each : workers) each.join();
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / threads));
  return total == expected * threads ? 0 : 1;
}
