// Takes frames from a camera into buffers and looks for the brightest place.
//
// category: kernel_memory
// certain: yes
// why: Each frame maps fresh memory, touches each page of it once and gives it back.

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 2000;
constexpr std::size_t frame_size = 1 << 20;

void* map_frame() {
  return mmap(nullptr, frame_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

[[gnu::noinline]] std::uint64_t take_frame(std::uint32_t number) {
#ifdef WITHOUT_CAUSE
  thread_local void* const memory = map_frame();
#else
  void* const memory = map_frame();
#endif
  if (memory == MAP_FAILED) return 0;
  auto* pixels = static_cast<unsigned char*>(memory);
  std::uint64_t brightest = 0;
  for (std::size_t place = 0; place < frame_size; place += 4096) {
    pixels[place] = static_cast<unsigned char>(place / 4096 * (number % 8 + 1) % 251);
    brightest = pixels[place] > brightest ? pixels[place] : brightest;
  }
#ifndef WITHOUT_CAUSE
  munmap(memory, frame_size);
#endif
  return brightest;
}

[[gnu::noinline]] void watch(int first, int step, int rounds, std::uint64_t& result) {
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) {
    for (std::uint32_t number = 0; number < 8; ++number) sum += take_frame(number);
  }
  result = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 500);
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back(watch, t, threads, rounds, std::ref(results[t]));
  }
  for (std::thread& each : workers) each.join();
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
