// One of the threads that ask at once makes the thing; a thread that throws leaves it to another.
#include <atomic>
#include <cassert>
#include <mutex>
#include <stdexcept>

#include "two_threads.hpp"

struct Thing {
  void make() {
    if (fails.exchange(false)) throw std::runtime_error("not yet");
    made.fetch_add(1);
  }
  void get() {
    // snippet
  }
  std::atomic<bool> done{false}, fails{false};
  std::mutex mutex;
  std::atomic<int> made{0};
};

int main() {
  for (int i = 0; i < 100; ++i) {
    Thing thing;
    on_two_threads([&](unsigned) {
      thing.get();
      assert(thing.made.load() == 1);
      thing.get();
    });
    assert(thing.made.load() == 1);
  }
  Thing failing;
  failing.fails = true;
  bool thrown = false;
  try {
    failing.get();
  } catch (const std::runtime_error&) {
    thrown = true;
  }
  failing.get();
  assert(thrown && failing.made.load() == 1);
}
