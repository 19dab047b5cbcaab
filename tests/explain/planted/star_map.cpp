// Adds up pictures of the sky, so large that they stay in no cache.
//
// category: none | memory_bandwidth
// certain: any
// threads: 1,2
// why: Threads only stream through memory, which two threads of this kind may or may not saturate.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 25165824;
constexpr std::size_t pixels = 12 << 20;

struct Sky {
  std::vector<float> sum = std::vector<float>(pixels);
  std::vector<float> dark = std::vector<float>(pixels, 1.0F);
  std::vector<float> light = std::vector<float>(pixels, 3.0F);
};

[[gnu::noinline]] void expose(Sky& sky, std::size_t begin, std::size_t end, float gain) {
  for (std::size_t i = begin; i < end; ++i) sky.sum[i] = sky.light[i] - gain * sky.dark[i];
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int nights = 2 + static_cast<int>(seconds * 110);
  Sky sky;
  std::vector<std::thread> telescopes;
  for (int t = 0; t < threads; ++t) {
    telescopes.emplace_back([&sky, t, threads, nights] {
      for (int night = 0; night < nights; ++night) {
        expose(sky, pixels * t / threads, pixels * (t + 1) / threads, night + 1 == nights ? 1 : 2);
      }
    });
  }
  for (std::thread& each : telescopes) each.join();
  std::uint64_t total = 0;
  for (const float each : sky.sum) total += static_cast<std::uint64_t>(each);
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total));
  return total == expected ? 0 : 1;
}
