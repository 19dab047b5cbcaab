// fix: keep-memory | huge-pages | jemalloc | mimalloc | tcmalloc | tbbmalloc
// alone: keep-memory
// why: Each large block is mapped, zeroed by the kernel, and given back.
#include <malloc.h>

#include "threads.hpp"

int main(int, char** words) {
  mallopt(M_MMAP_THRESHOLD, 128 << 10);  // which keeps glibc from raising it
  in_threads(words[1], [](long share) {
    for (long i = 0; i < share / 1000; ++i) {
      char* block = static_cast<char*>(std::malloc(300 << 10));
      for (int at = 0; at < 300 << 10; at += 4096) keep(block[at] = 1);
      std::free(block);
    }
  });
}
