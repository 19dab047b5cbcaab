// A cellular automaton on a line; each generation is computed by all threads together.
//
// category: barrier
// name: generation_done | barrier
// certain: yes
// why: A generation is so little work that the barrier after it takes most of the time.

#include <barrier>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 523776;
constexpr int cells = 1024;

using Line = std::vector<std::uint8_t>;

[[gnu::noinline]] void next_generation(const Line& from, Line& to, int begin, int end) {
  for (int i = begin; i < end; ++i) {
    const int pattern = from[(i + cells - 1) % cells] * 4 + from[i] * 2 + from[(i + 1) % cells];
    to[i] = (30 >> pattern) & 1;
  }
}

[[gnu::noinline]] void run(Line& even, Line& odd, int begin, int end, int generations,
                           std::barrier<>& generation_done) {
  for (int generation = 0; generation < generations; generation += 2) {
    next_generation(even, odd, begin, end);
    generation_done.arrive_and_wait();
    next_generation(odd, even, begin, end);
    generation_done.arrive_and_wait();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 200);
  std::uint64_t total = 0;
  Line even(cells);
  Line odd(cells);
  std::barrier<> generation_done(threads);
  std::vector<std::thread> workers;
  even[cells / 2] = 1;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back(run, std::ref(even), std::ref(odd), cells * t / threads,
                         cells * (t + 1) / threads, 400 * rounds, std::ref(generation_done));
  }
  for (std::thread& each : workers) each.join();
  workers.clear();
  Line check(cells);
  check[cells / 2] = 1;
  for (int generation = 0; generation < 400 * rounds; generation += 2) {
    next_generation(check, odd, 0, cells);
    next_generation(odd, check, 0, cells);
  }
  for (int i = 0; i < cells; ++i) total += even[i] == check[i] ? i : 0;
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total));
  return total == expected ? 0 : 1;
}
