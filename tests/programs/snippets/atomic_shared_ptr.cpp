// A reader sees each object whole, in order, and the last one in the end.
#include <atomic>
#include <cassert>
#include <memory>
#include <mutex>

#include "two_threads.hpp"

struct Config {
  int number, same;
};
using Pointer = std::shared_ptr<const Config>;

#if defined(__cpp_lib_atomic_shared_ptr)
std::atomic<Pointer> published;
#else
struct {
  Pointer load() {
    const std::lock_guard lock(mutex);
    return kept;
  }
  void store(Pointer next) {
    const std::lock_guard lock(mutex);
    kept = std::move(next);
  }
  std::mutex mutex;
  Pointer kept;
} published;
#endif
std::atomic<unsigned> version{0};

constexpr int kLast = 2000;

void publish(int number) {
  published.store(std::make_shared<const Config>(Config{number, number}));
  version.fetch_add(1);
}

int main() {
  publish(0);
  on_two_threads([](unsigned thread) {
    if (thread == 1) {
      for (int number = 1; number <= kLast; ++number) publish(number);
      return;
    }
    Pointer copy;
    unsigned seen = 0;
    int last = -1;
    const auto use = [&last](const Config& config) {
      assert(config.number == config.same && config.number >= last);
      last = config.number;
    };
    while (last != kLast) {
      // snippet
    }
  });
}
