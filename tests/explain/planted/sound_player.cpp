// Runs a filter of sounds that is loaded as a plugin from beside the program.
//
// category: mutex
// name: filter_mutex
// holder: filter_sound < play
// certain: yes
// build: plugin
// why: The plugin filters every sound under a lock of its own.

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 842440000;

using Filter = std::uint64_t (*)(std::uint32_t sound);
Filter filter_sound = nullptr;

[[gnu::noinline]] void play(int first, int step, int rounds, std::uint64_t& result) {
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) {
    for (std::uint32_t sound = 0; sound < 100; ++sound) sum += filter_sound(sound);
  }
  result = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 1'800);
  const std::string path = std::filesystem::read_symlink("/proc/self/exe").string() + ".so";
  void* plugin = dlopen(path.c_str(), RTLD_NOW);
  if (plugin == nullptr) return 2;
  filter_sound = reinterpret_cast<Filter>(dlsym(plugin, "filter_sound"));
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back(play, t, threads, rounds, std::ref(results[t]));
  }
  for (std::thread& each : workers) each.join();
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
