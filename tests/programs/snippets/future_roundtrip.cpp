// A receiver that comes first waits; a receiver that comes late does not.
#include <atomic>
#include <cassert>
#include <memory>

#include "two_threads.hpp"

struct Channel {
  int value = 0;
  std::atomic<int> ready{0};
  int pass(int result) {
    // snippet
    return value;
  }
};

int main() {
  for (int i = 1; i <= 100; ++i) {
    Channel channel;
    on_two_threads([&](unsigned thread) {
      if (thread == 1) {
        assert(channel.pass(i) == i);
      } else {
        channel.ready.wait(0);
        assert(channel.value == i);
      }
    });
  }
}
