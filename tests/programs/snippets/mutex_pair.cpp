// Both are held: what two threads add under them is not lost.
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
