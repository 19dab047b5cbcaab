// No thread passes before both have come.
#include <atomic>
#include <cassert>
#include <latch>

#include "two_threads.hpp"

int main() {
  for (int i = 0; i < 200; ++i) {
    std::latch latch(2);
    std::atomic<int> come{0};
    on_two_threads([&](unsigned) {
      come.fetch_add(1);
      // snippet
      assert(come.load() == 2);
    });
  }
}
