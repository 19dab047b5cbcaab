// fix: omp-threads | one-processor
// build: -fopenmp
// alone: omp-threads
// why: A parallel region costs more than the few additions in it.
#include "threads.hpp"

int main() {
  long sum = 0;
  for (int i = 0; i < 20'000; ++i) {
#pragma omp parallel for reduction(+ : sum)
    for (int k = 0; k < 16; ++k) sum += k * i;
  }
  keep(sum);
}
