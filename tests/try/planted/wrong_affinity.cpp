// fix: free-affinity
// alone: free-affinity
// why: The program binds each of its threads to the same processor.
#include <sched.h>

#include "threads.hpp"

int main(int, char** words) {
  cpu_set_t usable, first;
  sched_getaffinity(0, sizeof usable, &usable);
  CPU_ZERO(&first);
  for (int each = 0; each < CPU_SETSIZE && CPU_COUNT(&first) == 0; ++each)
    if (CPU_ISSET(each, &usable)) CPU_SET(each, &first);
  in_threads(words[1], [=](long share) {
    sched_setaffinity(0, sizeof first, &first);
    work(100 * share);
  });
}
