// Reads picture files, whose formats are libraries that are loaded when they are needed.
//
// category: loader
// certain: yes
// why: Each picture opens and closes a library, under the lock of the loader.

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 450;

[[gnu::noinline]] std::uint64_t read_picture(std::uint32_t number) {
  void* format = dlopen("libm.so.6", RTLD_NOW);
  if (format == nullptr) return 0;
  const std::uint64_t found = dlsym(format, "cbrt") != nullptr ? number % 10 : 0;
  dlclose(format);
  return found;
}

[[gnu::noinline]] void read_pictures(int first, int step, int rounds, std::uint64_t& result) {
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) {
    for (std::uint32_t number = 0; number < 100; ++number) sum += read_picture(number);
  }
  result = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 64'000);
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back(read_pictures, t, threads, rounds, std::ref(results[t]));
  }
  for (std::thread& each : workers) each.join();
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
