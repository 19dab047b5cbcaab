// Renders a scene; each ray looks at the scene's lamps, which may be exchanged meanwhile.
//
// category: atomic
// name: lamps | shared_ptr | _Sp_counted | __shared_count | use_count
// made: trace | current_lamps
// certain: yes
// why: Each ray copies the shared_ptr of the scene, whose count all threads then change.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "without.hpp"

namespace {

constexpr std::uint64_t expected = 44883;

struct Lamps {
  std::vector<std::uint32_t> brightness;
};

SHARED std::shared_ptr<const Lamps> lamps;

std::shared_ptr<const Lamps> make_lamps() {
  return std::make_shared<const Lamps>(Lamps{{3, 141, 59, 26, 5, 35}});
}

[[gnu::noinline]] std::shared_ptr<const Lamps> current_lamps() { return lamps; }

[[gnu::noinline]] std::uint64_t trace(std::uint32_t ray) {
  const std::shared_ptr<const Lamps> seen = current_lamps();
  return seen->brightness[ray % seen->brightness.size()];
}

[[gnu::noinline]] void render(int first, int step, int rounds, std::uint64_t& result) {
#ifdef WITHOUT_CAUSE
  lamps = make_lamps();
#endif
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) {
    for (std::uint32_t ray = 0; ray < 1000; ++ray) sum += trace(ray);
  }
  result = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 37'000);
  lamps = make_lamps();
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back(render, t, threads, rounds, std::ref(results[t]));
  }
  for (std::thread& each : workers) each.join();
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
