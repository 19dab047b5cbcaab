// Evaluates expressions whose parts are independent of one another.
//
// category: task_overhead
// certain: yes
// build: openmp
// why: Each node of an expression is a task, although its own work is a single addition.

#include <omp.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr std::uint64_t expected = 2584;

std::uint64_t evaluate(int depth) {
  if (depth < 2) return static_cast<std::uint64_t>(depth);
#ifdef WITHOUT_CAUSE
  if (depth < 15) return evaluate(depth - 1) + evaluate(depth - 2);
#endif
  std::uint64_t left = 0;
  std::uint64_t right = 0;
#pragma omp task shared(left)
  left = evaluate(depth - 1);
#pragma omp task shared(right)
  right = evaluate(depth - 2);
#pragma omp taskwait
  return left + right;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 1 + static_cast<int>(seconds * 710);
  omp_set_num_threads(threads);
  std::uint64_t total = 0;
  for (int round = 0; round < rounds; ++round) {
    std::uint64_t value = 0;
#pragma omp parallel
#pragma omp single
    value = evaluate(18);
    total += value;
  }
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
