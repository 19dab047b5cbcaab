// known: the agent's memory counts as the program's, and is more than many may lock
// Keeps all of its memory from being swapped out, as programs do that must not wait, within the
// 64 MiB that a user may lock on many systems.
#include <sys/mman.h>
#include <sys/resource.h>

#include "odd.hpp"

int main() {
  const rlimit limit{64U << 20, 64U << 20};
  const int limited = setrlimit(RLIMIT_MEMLOCK, &limit);
  const int dropped = getuid() == 0 ? setresuid(65534, 65534, 65534) : 0;  // root may lock any
  say("limited %d, dropped %d", limited, dropped);
  say("locked: %s", mlockall(MCL_CURRENT) == 0 ? "all" : name_of(errno));
  say("counted %ld", contend(1, 300));
}
