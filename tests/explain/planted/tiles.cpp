// Adds up the tiles of a map, each by a call of std::async.
//
// category: thread_creation | task_overhead
// certain: yes
// why: Each call of async makes a thread, whose tile is far less work than that.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <vector>

namespace {

constexpr std::uint64_t expected = 1019462;

[[gnu::noinline]] std::uint64_t add_tile(std::uint32_t tile) {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < 500; ++i) sum += (tile + i) * 2654435761U >> 24;
  return sum;
}

[[gnu::noinline, maybe_unused]] std::uint64_t add_map(int first, int tiles) {
  std::vector<std::future<std::uint64_t>> parts;
  for (int tile = 0; tile < tiles; ++tile) {
    parts.push_back(std::async(std::launch::async, add_tile, first + tile));
  }
  std::uint64_t sum = 0;
  for (std::future<std::uint64_t>& each : parts) sum += each.get();
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int maps = 1 + static_cast<int>(seconds * 2500);
  std::uint64_t total = 0;
#ifdef WITHOUT_CAUSE
  std::vector<std::future<std::uint64_t>> parts;
  for (int t = 0; t < threads; ++t) {
    parts.push_back(std::async(std::launch::async, [t, threads, maps] {
      std::uint64_t sum = 0;
      for (int map = 0; map < maps; ++map) {
        for (int tile = t; tile < 16; tile += threads) sum += add_tile(tile);
      }
      return sum;
    }));
  }
  for (std::future<std::uint64_t>& each : parts) total += each.get();
#else
  for (int map = 0; map < maps; ++map) {
    for (int part = 0; part < 16; part += threads) {
      total += add_map(part, std::min(threads, 16 - part));
    }
  }
#endif
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / maps));
  return total == expected * maps ? 0 : 1;
}
