// fix: fewer-threads
// threads: 2 per processor
// also: fewer threads do not spin without a processor, which explain counts as work
// why: Threads spin at a barrier while those that they wait for have no processor.
#include <atomic>

#include "threads.hpp"

int main(int, char** words) {
  static std::atomic<long> arrived{0};
  static const long count = std::atol(words[1]);
  in_threads(words[1], [](long) {
    for (long round = 1; round <= 6; ++round) {
      work(400'000 / count);
      ++arrived;
      while (arrived < round * count) {
      }
    }
  });
}
