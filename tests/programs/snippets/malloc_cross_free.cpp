// A queue of messages by value: each message arrives as it was sent, in order.
#include <array>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "two_threads.hpp"

struct Queue {
  // snippet
  std::atomic<std::uint64_t> sent{0}, taken{0};
};

int main() {
  static Queue queue;
  constexpr std::uint64_t kCount = 20000;
  on_two_threads([](unsigned thread) {
    for (std::uint64_t i = 0; i < kCount; ++i) {
      auto& bytes = queue.ring[i % queue.ring.size()].bytes;
      std::uint64_t number = i;
      if (thread == 0) {
        while (i - queue.taken.load() == queue.ring.size()) std::this_thread::yield();
        std::memcpy(bytes.data(), &number, sizeof number);
        queue.sent.store(i + 1);
      } else {
        while (queue.sent.load() == i) std::this_thread::yield();
        std::memcpy(&number, bytes.data(), sizeof number);
        assert(number == i);
        queue.taken.store(i + 1);
      }
    }
  });
}
