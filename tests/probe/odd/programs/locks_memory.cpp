// cases: now, later, both
// Locks its memory, like programs that must not wait for swapping, within the 8 MiB that a user may
// lock on many systems. Threads with small stacks then take the rest.
#include <sys/mman.h>
#include <sys/resource.h>

#include "odd.hpp"

int main(int, char** words) {
  const bool now = std::strcmp(words[1], "later") != 0, later = std::strcmp(words[1], "now") != 0;
  const rlimit limit{8U << 20, 8U << 20};
  const int limited = setrlimit(RLIMIT_MEMLOCK, &limit);
  const int dropped = getuid() == 0 ? setresuid(65534, 65534, 65534) : 0;  // root may lock any
  say("limited %d, dropped %d", limited, dropped);
  sleep_us(1'000);
  const int locked = mlockall((now ? MCL_CURRENT : 0) | (later ? MCL_FUTURE : 0));
  say("locked: %s", locked == 0 ? "all" : name_of(errno));
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64U << 10);
  say("counted %ld", contend(3, 300, &small));
  say("unlocked: %s", munlockall() == 0 ? "all" : name_of(errno));
  say("counted %ld", contend(3, 300, &small));
}
