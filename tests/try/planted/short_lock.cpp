// fix: spinning-mutex | adaptive-mutex | one-processor | fewer-threads
// alone: spinning-mutex
// why: The lock is held for less time than it takes to sleep and to wake.
#include <mutex>

#include "threads.hpp"

int main(int, char** words) {
  static std::mutex mutex;
  static long sum = 0;
  in_threads(words[1], [](long share) {
    for (long i = 0; i < share / 10; ++i) {
      {
        std::lock_guard<std::mutex> held(mutex);
        work(300);
        ++sum;
      }
      work(300);
    }
  });
}
