// fix: one-processor | fewer-threads
// alone: fewer-threads
// why: Both threads write one word, whose line goes from one processor to the other.
#include <atomic>

#include "threads.hpp"

int main(int, char** words) {
  static std::atomic<long> counter{0};
  in_threads(words[1], [](long share) {
    for (long i = 0; i < 10 * share; ++i) counter.fetch_add(1);
  });
}
