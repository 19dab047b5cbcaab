// Each call returns its result to the thread that asks.
#include <cassert>
#include <tmk/async.hpp>

#include "two_threads.hpp"

int f(int x) { return x * x; }

int main() {
  on_two_threads([](unsigned thread) {
    for (int x = 0; x < 100; ++x) {
      int used = -1;
      const auto use = [&used](int value) { used = value; };
      // snippet
      assert(used == x * x && thread < 2);
    }
  });
}
