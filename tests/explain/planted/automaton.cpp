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

// The same 64 cells at a time, so that the check after the threads is no serial part of note.
[[gnu::noinline]] Line alone(int generations) {
  constexpr int words = cells / 64;
  std::vector<std::uint64_t> now(words);
  std::vector<std::uint64_t> next(words);
  now[words / 2] = 1;  // the cell in the middle
  for (int generation = 0; generation < generations; ++generation) {
    for (int i = 0; i < words; ++i) {
      const std::uint64_t left = now[i] << 1 | now[(i + words - 1) % words] >> 63;
      const std::uint64_t right = now[i] >> 1 | now[(i + 1) % words] << 63;
      next[i] = left ^ (now[i] | right);
    }
    now.swap(next);
  }
  Line line(cells);
  for (int i = 0; i < cells; ++i) line[i] = now[i / 64] >> i % 64 & 1;
  return line;
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
  const Line check = alone(400 * rounds);
  for (int i = 0; i < cells; ++i) total += even[i] == check[i] ? i : 0;
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total));
  return total == expected ? 0 : 1;
}
