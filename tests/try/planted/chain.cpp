// fix: none
// why: Each step needs the result of the one before, so that one thread works at a time.
#include <mutex>

#include "threads.hpp"

int main(int, char** words) {
  static std::mutex mutex;
  in_threads(words[1], [](long share) {
    for (int part = 0; part < 4; ++part) {
      std::lock_guard<std::mutex> held(mutex);
      work(20 * share);
    }
  });
}
