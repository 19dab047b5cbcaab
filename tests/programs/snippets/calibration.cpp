// No two counts are on one cache line, and together they lose nothing.
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "two_threads.hpp"

template <class Counts>
void look(const Counts& counts) {
  const auto at = [&](std::size_t i) { return reinterpret_cast<std::uintptr_t>(&counts[i].value); };
  assert(at(1) - at(0) >= 64 && at(0) % 64 == 0);
  std::uint64_t sum = 0;
  for (const auto& each : counts) sum += each.value.load();
  assert(sum == 1);
}

int main() {
  const unsigned threads = 2, thread = 1;
  // snippet
  look(counts);
}
