// plugins.cpp loads and unloads this library: threads wait for a mutex that lies in the library.
#include <cstdio>
#include <mutex>
#include <thread>

namespace {

std::mutex mutex;
long count = 0;

struct Life {
  Life() { std::fputs("+", stderr); }
  ~Life() { std::fputs("-", stderr); }
} life;

}  // namespace

extern "C" long work(int seed) {
  const auto some = [seed] {
    for (int i = 0; i < 60; ++i) {
      const std::lock_guard lock(mutex);
      count += seed;
      if (i % 8 == 0) std::this_thread::yield();
    }
  };
  std::thread other(some);
  some();
  other.join();
  return count;
}
