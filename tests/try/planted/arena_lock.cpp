// fix: jemalloc | mimalloc | tcmalloc | tbbmalloc
// also: another malloc is faster without the lock too
// why: All threads take the lock of the one arena that the program allows.
#include <malloc.h>

#include "threads.hpp"

int main(int, char** words) {
  mallopt(M_ARENA_MAX, 1);
  in_threads(words[1], [](long share) {
    for (long i = 0; i < share / 20; ++i) {
      void* blocks[16];
      for (void*& block : blocks)
        keep(block = std::malloc(1500));  // too large for a thread's own cache
      for (void* block : blocks) std::free(block);
    }
  });
}
