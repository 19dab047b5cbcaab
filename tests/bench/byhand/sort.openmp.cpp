// sort, written against OpenMP.
#include "sort.hpp"

static long merge_cutoff, sort_cutoff;

static void merge(Range larger, Range smaller, Element* out) {
  if (larger.size() < smaller.size()) std::swap(larger, smaller);
  if (smaller.size() <= merge_cutoff) return merge_serial(larger, smaller, out);
  Element* const middle = larger.begin + larger.size() / 2;
  Element* const split = std::lower_bound(smaller.begin, smaller.end, *middle);
  Element* const place = out + (middle - larger.begin) + (split - smaller.begin);
  *place = *middle;
#pragma omp task shared(larger, smaller)
  merge({larger.begin, middle}, {smaller.begin, split}, out);
  merge({middle + 1, larger.end}, {split, smaller.end}, place + 1);
#pragma omp taskwait
}

static void sort(Range data, Element* scratch) {
  if (data.size() < sort_cutoff) return std::sort(data.begin, data.end);
  const std::int64_t quarter = data.size() / 4;
  Element* const a = data.begin;
  Element* const b = a + quarter;
  Element* const c = b + quarter;
  Element* const d = c + quarter;
  Element* const scratch_half = scratch + 2 * quarter;
#pragma omp task
  sort({a, b}, scratch);
#pragma omp task
  sort({b, c}, scratch + quarter);
#pragma omp task
  sort({c, d}, scratch_half);
  sort({d, data.end}, scratch_half + quarter);
#pragma omp taskwait
#pragma omp task
  merge({a, b}, {b, c}, scratch);
  merge({c, d}, {d, data.end}, scratch_half);
#pragma omp taskwait
  merge({scratch, scratch_half}, {scratch_half, scratch + data.size()}, data.begin);
}

int main(int argc, char** argv) {
  const byhand::Options options(argc, argv);
  merge_cutoff = options.parameters[1];
  sort_cutoff = options.parameters[2];
  Problem problem(options.parameters[0]);
  const auto run = [&] {
#pragma omp parallel num_threads(options.threads)
#pragma omp single
    sort(problem.all(), problem.scratch.data());
  };
  return byhand::measure(
      options, [&] { problem.data = problem.input; }, run, [&] { return problem.sorted(); });
}
