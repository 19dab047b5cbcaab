// Counts the triangles of a graph, row by row of its matrix.
//
// category: imbalance
// certain: yes
// build: openmp
// why: Rows are dealt in equal ranges, and the cost of a row grows with the square of its number.

#include <omp.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr std::uint64_t expected = 52015040;
constexpr int nodes = 300;

std::uint64_t triangles_of_row(const std::vector<std::uint8_t>& edge, int a) {
  std::uint64_t found = 0;
  for (int b = 0; b < a; ++b) {
    if (edge[a * nodes + b] == 0) continue;
    for (int c = 0; c < b; ++c) found += edge[a * nodes + c] & edge[b * nodes + c];
  }
  return found;
}

std::uint64_t count_triangles(const std::vector<std::uint8_t>& edge, int repeats) {
  std::uint64_t found = 0;
#ifdef WITHOUT_CAUSE
#pragma omp parallel for schedule(dynamic) reduction(+ : found)
#else
#pragma omp parallel for schedule(static) reduction(+ : found)
#endif
  for (int a = 0; a < nodes; ++a) {
    for (int repeat = 0; repeat < repeats; ++repeat) found += triangles_of_row(edge, a);
  }
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 1 + static_cast<int>(seconds * 25);
  omp_set_num_threads(threads);
  std::vector<std::uint8_t> edge(nodes * nodes);
  std::uint32_t state = 1;
  for (std::uint8_t& each : edge) {
    state = state * 1664525 + 1013904223;
    each = (state >> 24) % 3 == 0 ? 0 : 1;
  }
  std::uint64_t total = 0;
  for (int round = 0; round < rounds; ++round) total += count_triangles(edge, 40);
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
