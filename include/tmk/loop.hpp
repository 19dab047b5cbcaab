// tmk::for_each_index, parallel_for and parallel_reduce: loops whose iterations may run at the same
// time. docs/loops.md has their meaning, errors and cost.
//
//   tmk::for_each_index(0, pixels.size(), [&](std::size_t i) { pixels[i] = shade(i); });
//   tmk::parallel_for(files, [](const std::string& name) { check(name); });
//   const double sum = tmk::parallel_reduce(numbers, 0.0, std::plus<>());
//
// The program chooses no grain. A thread hands half of its iterations out when its deque is empty,
// because others have then taken its earlier tasks. Between two looks at its deque it runs as many
// iterations as take a few microseconds. It also shares the iterations that it hands out, so a
// thief needs no fence.
#pragma once

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <iterator>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "detail/this_worker.hpp"
#include "detail/worker.hpp"
#include "fork_join.hpp"

namespace tmk {

// The grouping of the elements in parallel_reduce. `automatic`: the groups depend on which threads
// had time. `fixed`: the groups depend on the number of elements alone, so the result is the same
// on any number of threads, whether or not the operation is associative.
enum class grouping { automatic, fixed };

namespace detail {

// The iterations of one call.
struct Loop {
  std::atomic<bool> stopped{false};  // a call has thrown; others that have not begun are dropped
};

// The number of iterations between two looks at the deque: as many as take about kLookNs, but never
// a large part of those that are left, because later iterations may take longer.
class Pace {
 public:
  std::size_t next(std::size_t left) const {
    return std::max<std::size_t>(1, std::min(iterations_, left / 16));
  }
  // Fewer are not worth a theft.
  std::size_t least() const { return 2 * iterations_; }
  void begin() { since_ns_ = now_ns(); }
  // The caller has run that many iterations since the last call.
  void ran(std::size_t iterations) {
    const std::int64_t now = now_ns(), took_ns = std::max<std::int64_t>(1, now - since_ns_);
    since_ns_ = now;
    // The rate counts, because `iterations` may be fewer when few are left.
    if (static_cast<double>(took_ns) * static_cast<double>(iterations_) <
        static_cast<double>(kLookNs / 2) * static_cast<double>(iterations)) {
      iterations_ *= 2;
    }
    if (took_ns > kLookNs * 2) {
      const double fitting =
          static_cast<double>(iterations) * kLookNs / static_cast<double>(took_ns);
      iterations_ = std::max<std::size_t>(1, static_cast<std::size_t>(fitting));
    }
  }

 private:
  static constexpr std::int64_t kLookNs = 4'000;
  static std::int64_t now_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{1'000'000'000} * now.tv_sec + now.tv_nsec;
  }
  std::size_t iterations_ = 1;
  std::int64_t since_ns_ = 0;
};

// Runs the iterations from first to last. A Part has run(first, last), which runs them one after
// the other; split(), which makes a Part for later iterations; and append(later), which follows
// when both have been run.
template <class Part>
void run_part(Loop& loop, Part& part, std::size_t first, std::size_t last, Pace& pace) {
  struct Stop {
    Loop& loop;
    bool thrown = true;
    ~Stop() {
      if (thrown) loop.stopped.store(true);
    }
  } stop{loop};
  Worker* self = &this_worker();
  pace.begin();
  while (first != last && !loop.stopped.load()) {
    const std::size_t left = last - first;
    if (left > 1 && left > pace.least() - 1 && !self->may_have_pending()) {
      const std::size_t middle = first + (left - left / 2);
      Part later = part.split();
      // A thief begins with the pace of this moment; this thread goes on with the pace that it has
      // measured since.
      const Pace known = pace;
      const auto run_later = [&] {
        Pace of_thief = known;
        run_part(loop, later, middle, last, &this_worker() == self ? pace : of_thief);
      };
      Branches<decltype(run_later)&> branch(self, run_later);
      Join<decltype(run_later)&> join{branch};
      self->share();
      run_part(loop, part, first, middle, pace);
      join(*self);
      if (!loop.stopped.load()) part.append(later);
      break;
    }
    const std::size_t count = pace.next(left);
    part.run(first, first + count);
    first += count;
    if (first != last) pace.ran(count);
  }
  stop.thrown = false;
}
template <class Part>
void run_loop(Part& part, std::size_t count) {
  if (count == 0) return;
  Loop loop;
  Pace pace;
  run_part(loop, part, 0, count, pace);
}

// A Part that calls a function with each index.
template <class F>
struct EachPart {
  F& callable;
  void run(std::size_t first, std::size_t last) {
    if constexpr (std::is_trivially_copyable_v<F>) {
      // No call can change a copy. Without the copy a loop that stores bytes would read `callable`
      // again after each store.
      const F own = callable;
      for (; first != last; ++first) own(first);
    } else {
      for (; first != last; ++first) callable(first);
    }
  }
  EachPart split() { return *this; }
  void append(EachPart&) {}
};
template <class F>
void for_each_offset(std::size_t count, F&& callable) {
  EachPart<std::remove_reference_t<F>> part{callable};
  run_loop(part, count);
}

// A Part that reduces; empty until it has run.
template <class T, class I, class Combine, class Transform>
struct ReducePart {
  I& begin;
  Combine& combine;
  Transform& transform;
  std::optional<T> value;

  // An element may be a temporary, and the result of transform may refer to it. Both end with the
  // statement that uses them.
  void run(std::size_t first, std::size_t last) {
    const auto at = [](std::size_t i) { return static_cast<std::iter_difference_t<I>>(i); };
    T sum = value ? std::move(*value) : T(std::invoke(transform, begin[at(first++)]));
    for (; first != last; ++first) {
      sum = static_cast<T>(
          std::invoke(combine, std::move(sum), std::invoke(transform, begin[at(first)])));
    }
    value.emplace(std::move(sum));
  }
  ReducePart split() { return {begin, combine, transform, {}}; }
  void append(ReducePart& later) {
    T both = static_cast<T>(std::invoke(combine, std::move(*value), std::move(*later.value)));
    value.emplace(std::move(both));  // combine may have returned a reference to *value
  }
};

// Groups of a reduction with grouping::fixed: enough for many threads, and few enough to combine.
inline constexpr std::size_t kGroups = 256;

template <class T>
concept index_type =
    std::integral<T> && !std::same_as<std::remove_cv_t<T>, bool> &&
    sizeof(T) <= sizeof(std::size_t) && requires(T value) { std::in_range<std::size_t>(value); };
template <class R>
concept loop_range = std::ranges::random_access_range<R> && std::ranges::sized_range<R>;

}  // namespace detail

// Calls callable(i) for each i from first up to but not including last, possibly at the same time,
// and returns when all calls have ended. The type of i is the common type of both;
// std::invalid_argument if it cannot hold one of them.
template <detail::index_type First, detail::index_type Last, class F>
  requires std::invocable<F&, std::common_type_t<First, Last>>
void for_each_index(First first, Last last, F&& callable) {
  using Index = std::common_type_t<First, Last>;
  if (!std::in_range<Index>(first) || !std::in_range<Index>(last)) {
    throw std::invalid_argument(
        "tmk::for_each_index: the common type of first and last cannot hold one of them");
  }
  if (!std::cmp_less(first, last)) return;
  using Unsigned = std::make_unsigned_t<Index>;
  const auto begin = static_cast<Unsigned>(first);
  detail::for_each_offset(
      static_cast<std::size_t>(static_cast<Unsigned>(static_cast<Unsigned>(last) - begin)),
      [&callable, begin](std::size_t i) {
        std::invoke(callable,
                    static_cast<Index>(static_cast<Unsigned>(begin + static_cast<Unsigned>(i))));
      });
}

// Calls callable(element) for each element of the range, possibly at the same time, and returns
// when all calls have ended.
template <detail::loop_range R, class F>
  requires std::invocable<F&, std::ranges::range_reference_t<R>>
void parallel_for(R&& range, F&& callable) {
  using Difference = std::ranges::range_difference_t<R>;
  detail::for_each_offset(static_cast<std::size_t>(std::ranges::size(range)),
                          [&callable, begin = std::ranges::begin(range)](std::size_t i) {
                            std::invoke(callable, begin[static_cast<Difference>(i)]);
                          });
}

// Combines init and the transformed elements in the order of the range.
template <detail::loop_range R, class T, class Combine = std::plus<>,
          class Transform = std::identity>
  requires std::invocable<Transform&, std::ranges::range_reference_t<R>> &&
           std::constructible_from<
               T, std::invoke_result_t<Transform&, std::ranges::range_reference_t<R>>> &&
           std::is_invocable_r_v<T, Combine&, T, T>
[[nodiscard]] T parallel_reduce(R&& range, T init, Combine combine = {}, Transform transform = {},
                                grouping how = grouping::automatic) {
  const auto size = static_cast<std::size_t>(std::ranges::size(range));
  if (size == 0) return init;
  auto begin = std::ranges::begin(range);
  using Part = detail::ReducePart<T, decltype(begin), Combine, Transform>;
  const auto empty = [&] { return Part{begin, combine, transform, {}}; };
  if (how == grouping::automatic) {
    Part whole = empty();
    detail::run_loop(whole, size);
    return static_cast<T>(std::invoke(combine, std::move(init), std::move(*whole.value)));
  }
  const std::size_t groups = std::min(size, detail::kGroups);
  const std::size_t each = size / groups, longer = size % groups;  // the first ones have one more
  std::vector<std::optional<T>> values(groups);
  detail::for_each_offset(groups, [&](std::size_t group) {
    const std::size_t first = group * each + std::min(group, longer);
    Part part = empty();
    part.run(first, first + each + (group < longer ? 1 : 0));
    values[group].emplace(std::move(*part.value));
  });
  for (std::optional<T>& value : values) {
    init = static_cast<T>(std::invoke(combine, std::move(init), std::move(*value)));
  }
  return init;
}

}  // namespace tmk
