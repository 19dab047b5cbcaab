// Cilksort: quarters sorted at the same time, then merged in parallel. Leaves are std::sort, so
// their speed is that of the C++ library. The input is a permutation of 0 ... n-1, so the sorted
// array is known.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include "bench.hpp"

namespace {

using Element = std::int64_t;  // of the same size everywhere, unlike the suite's long

struct Range {
  Element* begin;
  Element* end;
  std::int64_t size() const { return end - begin; }
};

// Without a branch on the comparison, which on random data is mispredicted every other time.
void merge_serial(Range left, Range right, Element* out) {
  while (left.begin != left.end && right.begin != right.end) {
    const bool take_right = *right.begin < *left.begin;
    *out++ = take_right ? *right.begin : *left.begin;
    right.begin += take_right;
    left.begin += !take_right;
  }
  std::copy(right.begin, right.end, std::copy(left.begin, left.end, out));
}

template <class Branch>
struct Counted {
  Branch& branch;
  std::uint64_t tasks = 0;
  void operator()() { tasks = branch(); }
};

// Runs the branches as tasks. Each branch, and this, returns how many tasks were made
// below it.
template <class... Branches>
std::uint64_t in_parallel(bench::Form form, Branches&&... branches) {
  if (form == bench::Form::futures) {
    std::tuple handles{bench::async(std::ref(branches))...};
    return std::apply([](auto&... handle) { return (sizeof...(Branches) + ... + handle.get()); },
                      handles);
  }
  std::tuple counted{Counted<Branches>{branches}...};
  return std::apply(
      [](auto&... branch) {
        bench::fork_join(branch...);
        return (sizeof...(Branches) + ... + branch.tasks);
      },
      counted);
}

struct Cilksort {
  bench::Form form;
  std::int64_t merge_cutoff;  // a merge whose smaller range has at most so many elements is serial
  std::int64_t sort_cutoff;   // an array of fewer elements is a leaf

  // Sorts `data`; `scratch` is as long.
  std::uint64_t sort(Range data, Element* scratch) const {
    if (data.size() < sort_cutoff) {
      std::sort(data.begin, data.end);
      return 0;
    }
    const std::int64_t quarter = data.size() / 4;
    Element* const a = data.begin;
    Element* const b = a + quarter;
    Element* const c = b + quarter;
    Element* const d = c + quarter;
    Element* const scratch_half = scratch + 2 * quarter;
    Element* const scratch_end = scratch + data.size();
    std::uint64_t tasks = in_parallel(
        form, [&] { return sort({a, b}, scratch); },
        [&] { return sort({b, c}, scratch + quarter); }, [&] { return sort({c, d}, scratch_half); },
        [&] { return sort({d, data.end}, scratch_half + quarter); });
    tasks += in_parallel(
        form, [&] { return merge({a, b}, {b, c}, scratch); },
        [&] { return merge({c, d}, {d, data.end}, scratch_half); });
    return tasks + merge({scratch, scratch_half}, {scratch_half, scratch_end}, data.begin);
  }

  // The middle element of the larger range goes to its place, and the two sides are merged at the
  // same time.
  std::uint64_t merge(Range larger, Range smaller, Element* out) const {
    if (larger.size() < smaller.size()) std::swap(larger, smaller);
    if (smaller.size() <= merge_cutoff) {
      merge_serial(larger, smaller, out);
      return 0;
    }
    Element* const middle = larger.begin + larger.size() / 2;
    Element* const split = std::lower_bound(smaller.begin, smaller.end, *middle);
    Element* const place = out + (middle - larger.begin) + (split - smaller.begin);
    *place = *middle;
    return in_parallel(
        form, [&] { return merge({larger.begin, middle}, {smaller.begin, split}, out); },
        [&] { return merge({middle + 1, larger.end}, {split, smaller.end}, place + 1); });
  }
};

class Sort final : public bench::Instance {
 public:
  explicit Sort(const bench::Arguments& arguments)
      : n_(arguments["n"]),
        merge_cutoff_(arguments["merge_cutoff"]),
        sort_cutoff_(arguments["sort_cutoff"]),
        seed_(arguments.seed()) {}

  // The suite's shuffle, with the same generator; kept in half the size of the array.
  void prepare() override {
    const auto n = static_cast<std::uint32_t>(n_);
    input_ = std::make_unique_for_overwrite<std::uint32_t[]>(n);
    data_ = std::make_unique_for_overwrite<Element[]>(n);
    scratch_ = std::make_unique_for_overwrite<Element[]>(n);
    std::iota(input_.get(), input_.get() + n, std::uint32_t{0});
    std::uint64_t state = seed_;
    for (std::uint32_t i = 0; i < n; ++i) {
      state = state * 1'103'515'245 + 12'345;
      std::swap(input_[i], input_[state % n]);
    }
  }
  // Without its old contents the scratch array cannot lend a run that forgets a merge the right
  // elements.
  void clear() override {
    std::copy_n(input_.get(), n_, data_.get());
    std::fill_n(scratch_.get(), n_, Element{-1});
    tasks_ = 0;
  }
  void run(bench::Form form) override {
    const Cilksort cilksort{
        .form = form, .merge_cutoff = merge_cutoff_, .sort_cutoff = sort_cutoff_};
    tasks_ = cilksort.sort({data_.get(), data_.get() + n_}, scratch_.get());
  }
  bench::Check check() override {
    std::int64_t first_wrong = 0;
    while (first_wrong < n_ && data_[static_cast<std::size_t>(first_wrong)] == first_wrong)
      ++first_wrong;
    return {.ok = first_wrong == n_,
            .answer = std::to_string(first_wrong) + " of " + std::to_string(n_) + " in place",
            .reason = "element " + std::to_string(first_wrong) + " is wrong",
            .tasks = tasks_};
  }

 private:
  std::int64_t n_, merge_cutoff_, sort_cutoff_;
  std::uint64_t seed_;
  std::unique_ptr<std::uint32_t[]> input_;
  std::unique_ptr<Element[]> data_, scratch_;
  std::uint64_t tasks_ = 0;
};

}  // namespace

BENCH_PROGRAM(
        .name = "sort",
        .summary = "Cilksort of a random permutation: four-way parallel sort, parallel merges",
        .structure = "recursive balanced", .granularity = "variable", .synchronisation = "none",
        .origin = "Cilk",
        .parameters = {{.name = "n",
                        .meaning = "elements",
                        .min = 2,
                        .max = 1'000'000'000,
                        .smoke = 20'000,
                        .quick = 300'000,
                        .full = 100'000'000},
                       {.name = "merge_cutoff",
                        .meaning = "serial merge up to so many elements in the smaller range",
                        .min = 1,
                        .max = 1'000'000'000,
                        .smoke = 1'024,
                        .quick = 8'192,
                        .full = 8'192},
                       {.name = "sort_cutoff",
                        .meaning = "std::sort below so many elements",
                        .min = 4,
                        .max = 1'000'000'001,
                        .smoke = 512,
                        .quick = 2'048,
                        .full = 2'048}},
        .fork_join = true,
        .make = [](const bench::Arguments& arguments) -> std::unique_ptr<bench::Instance> {
          return std::make_unique<Sort>(arguments);
        })
