// Sums over a table's columns: the columns are prepared by all threads and joined up by one.
//
// category: serial_dependency | imbalance
// holder: join_up
// certain: any
// build: openmp
// why: Between two parallel loops one thread joins the columns up in a single section that is long.

#include <omp.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr std::uint64_t expected = 31093477;
constexpr int columns = 64;
constexpr int rows = 4096;

using Column = std::array<std::uint32_t, rows>;

[[gnu::noinline]] void prepare(Column& column, int number) {
  std::uint32_t value = number + 1;
  for (std::uint32_t& each : column) each = value = value * 1664525U + 1013904223U;
}

// A column goes on with what the one before it came to, row by row.
[[gnu::noinline]] std::uint64_t join_up(std::vector<Column>& table) {
  std::uint32_t carried = 0;
  for (Column& column : table) {
    for (std::uint32_t& each : column)
      each = carried = (carried ^ (carried >> 16)) * 0x45d9f3bU + each;
  }
  return carried;
}

[[gnu::noinline]] std::uint64_t digest(const Column& column) {
  std::uint64_t sum = 0;
  for (const std::uint32_t each : column) sum = sum * 3 + (each >> 8);
  return sum >> 44;
}

std::uint64_t tabulate(std::vector<Column>& table, int rounds) {
  std::uint64_t sum = 0;
#pragma omp parallel reduction(+ : sum)
  for (int round = 0; round < rounds; ++round) {
#pragma omp for schedule(static)
    for (int c = 0; c < columns; ++c) prepare(table[c], c);
#pragma omp single
    sum += join_up(table) >> 12;
#pragma omp for schedule(static)
    for (int c = 0; c < columns; ++c) sum += digest(table[c]);
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 1 + static_cast<int>(seconds * 900);
  omp_set_num_threads(threads);
  std::vector<Column> table(columns);
  const std::uint64_t total = tabulate(table, rounds);
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
