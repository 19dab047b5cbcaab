// fib, written against OpenMP.
#include "fib.hpp"
#include "byhand.hpp"

static long fib(long n) {
  if (n < 2) return n;
  long left = 0;
#pragma omp task shared(left) firstprivate(n)
  left = fib(n - 1);
  const long right = fib(n - 2);
#pragma omp taskwait
  return left + right;
}

int main(int argc, char** argv) {
  const byhand::Options options(argc, argv);
  long answer = 0;
  const auto run = [&] {
#pragma omp parallel num_threads(options.threads)
#pragma omp single
    answer = fib(options.parameters[0]);
  };
  return byhand::measure(
      options, [&] { answer = 0; }, run,
      [&] { return answer == expected_fib(options.parameters[0]); });
}
