// fix: jemalloc | mimalloc | tcmalloc | tbbmalloc
// also: another malloc hands blocks on in other ways, and the threads yield in a loop
// why: Blocks are freed by another thread than made them, so both take the lock of one arena.
#include <atomic>

#include "threads.hpp"

int main() {
  constexpr int kPlaces = 512;
  static std::atomic<void*> places[kPlaces];
  constexpr long kBlocks = 1'500'000;
  std::thread consumer([] {
    for (long i = 0; i < kBlocks; ++i) {
      void* block;
      while (!(block = places[i % kPlaces].exchange(nullptr))) std::this_thread::yield();
      std::free(block);
    }
  });
  for (long i = 0; i < kBlocks; ++i) {
    void* block = std::malloc(1200);
    static_cast<char*>(block)[0] = 1;
    void* none = nullptr;
    while (!places[i % kPlaces].compare_exchange_weak(none, block)) {
      none = nullptr;
      std::this_thread::yield();
    }
  }
  consumer.join();
}
