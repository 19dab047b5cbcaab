// fix: keep-memory | huge-pages | jemalloc | mimalloc | tcmalloc | tbbmalloc
// alone: keep-memory
// why: The top of the heap is given back and taken again each time.
#include <vector>

#include "threads.hpp"

int main() {
  for (int round = 0; round < 400; ++round) {
    std::vector<char*> blocks;
    for (int i = 0; i < 200; ++i) {
      blocks.push_back(static_cast<char*>(std::malloc(8000)));
      keep(blocks.back()[0] = blocks.back()[4096] = 1);
    }
    for (char* block : blocks) std::free(block);
  }
}
