// sort, written against TBB.
#include "sort.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_invoke.h>
#include <oneapi/tbb/task_arena.h>

static long merge_cutoff, sort_cutoff;

static void merge(Range larger, Range smaller, Element* out) {
  if (larger.size() < smaller.size()) std::swap(larger, smaller);
  if (smaller.size() <= merge_cutoff) return merge_serial(larger, smaller, out);
  Element* const middle = larger.begin + larger.size() / 2;
  Element* const split = std::lower_bound(smaller.begin, smaller.end, *middle);
  Element* const place = out + (middle - larger.begin) + (split - smaller.begin);
  *place = *middle;
  tbb::parallel_invoke([&] { merge({larger.begin, middle}, {smaller.begin, split}, out); },
                       [&] { merge({middle + 1, larger.end}, {split, smaller.end}, place + 1); });
}

static void sort(Range data, Element* scratch) {
  if (data.size() < sort_cutoff) return std::sort(data.begin, data.end);
  const std::int64_t quarter = data.size() / 4;
  Element* const a = data.begin;
  Element* const b = a + quarter;
  Element* const c = b + quarter;
  Element* const d = c + quarter;
  Element* const scratch_half = scratch + 2 * quarter;
  tbb::parallel_invoke([&] { sort({a, b}, scratch); }, [&] { sort({b, c}, scratch + quarter); },
                       [&] { sort({c, d}, scratch_half); },
                       [&] { sort({d, data.end}, scratch_half + quarter); });
  tbb::parallel_invoke([&] { merge({a, b}, {b, c}, scratch); },
                       [&] { merge({c, d}, {d, data.end}, scratch_half); });
  merge({scratch, scratch_half}, {scratch_half, scratch + data.size()}, data.begin);
}

int main(int argc, char** argv) {
  const byhand::Options options(argc, argv);
  merge_cutoff = options.parameters[1];
  sort_cutoff = options.parameters[2];
  tbb::global_control control(tbb::global_control::max_allowed_parallelism,
                              static_cast<std::size_t>(options.threads));
  tbb::task_arena arena(options.threads);
  Problem problem(options.parameters[0]);
  return byhand::measure(
      options, [&] { problem.data = problem.input; },
      [&] { arena.execute([&] { sort(problem.all(), problem.scratch.data()); }); },
      [&] { return problem.sorted(); });
}
