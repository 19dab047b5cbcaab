// Two threads hand a number to and fro: each waiting thread is woken, or the test hangs.
#include <atomic>
#include <cassert>

#include "two_threads.hpp"

constexpr int kTurns = 2000;
std::atomic<int> value{0}, waiters{0};

// Stores `next` and returns when there is another value.
void hand_over(int next) {
  const int old = next;
  // snippet
}

int main() {
  on_two_threads([](unsigned thread) {
    if (thread == 1) {
      while (value.load() == 0) std::this_thread::yield();
    }
    for (int turn = 0; turn < kTurns; ++turn) {
      hand_over(2 * turn + static_cast<int>(thread) + 1);
      const int seen = value.load();
      assert(seen == 0 || seen > 2 * turn + static_cast<int>(thread));
    }
    value.store(0);  // frees the other thread, which waits for a change of its last value
    value.notify_all();
  });
  assert(value.load() == 0 && waiters.load() == 0);
}
