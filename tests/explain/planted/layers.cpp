// Puts pictures together from layers; each layer is a vector of its own.
//
// category: kernel_memory | allocator
// certain: yes
// why: Layers are so large that malloc maps and unmaps each, and all their pages fault.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 1632;
constexpr std::size_t pixels = 34 << 20;

[[gnu::noinline]] std::uint64_t draw_layer(std::uint32_t number) {
#ifdef WITHOUT_CAUSE
  thread_local std::vector<std::uint8_t> layer;
  layer.assign(pixels, static_cast<std::uint8_t>(number));
#else
  const std::vector<std::uint8_t> layer(pixels, static_cast<std::uint8_t>(number));
#endif
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < layer.size(); i += 65536) sum += layer[i];
  return sum;
}

[[gnu::noinline]] void draw(int first, int step, int rounds, std::uint64_t& result) {
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) {
    for (std::uint32_t number = 1; number <= 2; ++number) sum += draw_layer(number);
  }
  result = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 60);
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back(draw, t, threads, rounds, std::ref(results[t]));
  }
  for (std::thread& each : workers) each.join();
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
