// The program of the live bars: some milliseconds of work that threads divide. One thread does a
// percentage of it alone, or under a lock. THREADMARK_WORK is the amount of work in percent.
#include <mutex>

#include "planted/threads.hpp"

int main(int, char** words) {
  const long serial = std::atol(words[2]), locked = std::atol(words[3]);
  const char* more = std::getenv("THREADMARK_WORK");
  const long one = 400'000 * (more ? std::atol(more) : 100) / 100;  // a hundredth of the steps
  static std::mutex mutex;
  work(serial * one);
  const long threads = std::atol(words[1]), steps = (100 - serial - locked) * one / threads;
  in_threads(words[1], [=](long) {
    for (int part = 0; part < 20; ++part) {
      work(steps / 20);
      std::lock_guard<std::mutex> held(mutex);
      work(locked * one / threads / 20);
    }
  });
}
