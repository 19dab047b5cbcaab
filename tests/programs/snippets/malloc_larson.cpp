// A block changes its size without a new allocation, up to the largest size, and changes hands.
#include <cassert>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "two_threads.hpp"

constexpr std::size_t largest = 1000;

// snippet

int main() {
  std::vector<Block> session(16);
  on_two_threads([&](unsigned thread) {
    if (thread == 0) return;
    for (std::size_t size = 1; size <= largest; ++size) {
      Block& block = session[size % session.size()];
      const std::byte* const before = block.memory.get();
      block.size = size;
      block.memory[size - 1] = std::byte{7};
      assert(block.memory.get() == before);
    }
  });
  const std::vector<Block> next = std::move(session);
  for (const Block& block : next) assert(block.memory[block.size - 1] == std::byte{7});
}
