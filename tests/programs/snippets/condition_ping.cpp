// Each thread is woken in its own seat, as often as its partner calls it.
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "two_threads.hpp"

constexpr unsigned threads = 2;

// snippet

int main() {
  static int ball = 0;
  on_two_threads([](unsigned me) {
    for (int turn = 0; turn < 1000; ++turn) {
      if (me == 1) seats[me].wait();
      assert(ball == 2 * turn + static_cast<int>(me));
      ++ball;
      seats[1 - me].call();
      if (me == 0) seats[me].wait();
    }
  });
  assert(ball == 2000);
}
