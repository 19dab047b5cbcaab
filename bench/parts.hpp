// A range of items in nearly equal parts, for the backends whose library has no parallel loop.
#pragma once

#include <algorithm>
#include <cstddef>

namespace bench {

// body(first, last) in a branch of `scope` for each of so many parts, or fewer; then waits.
template <class Scope, class F>
void spawn_parts(Scope& scope, std::size_t items, std::size_t parts, const F& body) {
  parts = std::min(parts, items);
  std::size_t first = 0;
  for (std::size_t i = 0; i < parts; ++i) {
    const std::size_t last = first + items / parts + (i < items % parts ? 1 : 0);
    scope.spawn([&body, first, last] { body(first, last); });
    first = last;
  }
  scope.wait();
}

// Parts for each thread: the last ones keep all threads busy to the end.
inline constexpr std::size_t parts_per_thread = 8;

}  // namespace bench
