// Two threads that change one object lose no change, and words that belong together stay together.
#include <array>
#include <cassert>
#include <cstdint>
#include <mutex>

#include "two_threads.hpp"

using Words = std::array<std::uint64_t, 4>;

Words next(const Words& words) {
  Words result = words;
  for (std::uint64_t i = 0; i < 4; ++i) result[i] += i + 1;
  return result;
}

// snippet

int main() {
  Guarded shared;
  on_two_threads([&](unsigned) {
    for (int i = 0; i < 2000; ++i) {
      shared.count();
      const Words seen = shared.load();
      assert((seen == Words{seen[0], 2 * seen[0], 3 * seen[0], 4 * seen[0]}));
    }
  });
  assert(shared.load()[0] == 4000);
}
