// Each thread holds both mutexes, so that no addition under them is lost.
#include <cassert>
#include <tmk/mutex.hpp>

#include "two_threads.hpp"

void both(long& count) {
  // snippet
  assert(!a.try_lock() && !b.try_lock());
  ++count;
}

int main() {
  long count = 0;
  both(count);
  assert(count == 1);
}
