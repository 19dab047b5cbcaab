// An address space of 512 MiB, set by ulimit -v; the program uses 400 MiB of it.
#include <sys/mman.h>
#include <sys/resource.h>

#include "odd.hpp"

int main() {
  const rlimit limit{512U << 20, 512U << 20};
  say("limit: %d", setrlimit(RLIMIT_AS, &limit));
  void* large = mmap(nullptr, 400U << 20, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  say("400 MiB: %s", large == MAP_FAILED ? name_of(errno) : "there");
  say("counted %ld", contend(3, 100));
}
