// Plans routes on a map of roads, which a road closure would change now and then.
//
// category: rwlock
// name: roads_lock | Map
// made: load_map | main
// holder: Map::length < plan
// certain: yes
// why: Every step of a plan takes the pthread read lock of the map for one look into it.

#include <pthread.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 1046;
constexpr unsigned towns = 64;

class Map {
 public:
  Map() { pthread_rwlock_init(&roads_lock, nullptr); }
  ~Map() { pthread_rwlock_destroy(&roads_lock); }
  Map(const Map&) = delete;
  Map& operator=(const Map&) = delete;

  void build(unsigned from, unsigned to, unsigned length) {
    pthread_rwlock_wrlock(&roads_lock);
    lengths_[from * towns + to] = length;
    pthread_rwlock_unlock(&roads_lock);
  }
  [[gnu::noinline]] unsigned length(unsigned from, unsigned to) {
    pthread_rwlock_rdlock(&roads_lock);
    const unsigned found = lengths_[from * towns + to];
    pthread_rwlock_unlock(&roads_lock);
    return found;
  }

 private:
  std::array<unsigned, towns * towns> lengths_{};
  pthread_rwlock_t roads_lock;
};

std::unique_ptr<Map> load_map() {
  auto map = std::make_unique<Map>();
  for (unsigned from = 0; from < towns; ++from) {
    for (unsigned to = 0; to < towns; ++to) map->build(from, to, (from * 37 + to * 11) % 97 + 1);
  }
  return map;
}

[[gnu::noinline]] std::uint64_t plan(Map& map, unsigned from) {
  std::uint64_t shortest = ~0ULL;
  for (unsigned by = 0; by < towns; ++by) {
    const std::uint64_t way = map.length(from, by) + map.length(by, (from + 1) % towns);
    shortest = way < shortest ? way : shortest;
  }
  return shortest;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 3'000);
#ifdef WITHOUT_CAUSE
  const int count = threads;
#else
  const int count = 1;
#endif
  std::vector<std::unique_ptr<Map>> maps(count);
  for (std::unique_ptr<Map>& each : maps) each = load_map();
  std::vector<std::uint64_t> ways(threads);
  std::vector<std::thread> planners;
  for (int t = 0; t < threads; ++t) {
    planners.emplace_back([&, t] {
      std::uint64_t sum = 0;
      for (int round = t; round < rounds; round += threads) {
        for (unsigned from = 0; from < towns; ++from) sum += plan(*maps[t % count], from);
      }
      ways[t] = sum;
    });
  }
  for (std::thread& each : planners) each.join();
  std::uint64_t total = 0;
  for (const std::uint64_t each : ways) total += each;
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
