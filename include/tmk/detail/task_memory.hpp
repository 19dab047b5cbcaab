// Memory of tasks: blocks of 64, 128, 192 and 256 bytes, out of slabs that name their worker, the
// home of the blocks. What is larger comes from the heap. No slab is ever given back to the system,
// so a pointer into one never dangles.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "task.hpp"

namespace tmk::detail {

struct Worker;

inline constexpr std::size_t kBlockBytes = kTaskAlignment;
inline constexpr std::size_t kBlockClasses = 4;
inline constexpr std::size_t kSlabBytes = std::size_t{32} << 10;
constexpr std::size_t block_class(std::size_t bytes) { return (bytes - 1) / kBlockBytes; }

// Free blocks of one home, as lists of tasks that are linked by their index.
class Blocks {
 public:
  explicit constexpr Blocks(Worker& home) : home_(home) {}

  // Owner of the home. A block of the given class. bad_alloc.
  Task* allocate(std::size_t of_class) {
    Task* const block = free_[of_class];
    if (block == nullptr) [[unlikely]]
      return refill(of_class);
    free_[of_class] = next_free(*block);
    return block;
  }
  // Owner of the home. Takes a block back.
  void keep(Task& block, std::size_t of_class) {
    link(block, std::exchange(free_[of_class], &block));
  }
  // Any other thread. Takes a block back.
  void give_back(Task& block, std::size_t of_class) {
    auto& list = returned_[of_class];
    Task* first =
        list.load(std::memory_order_relaxed);  // ORDER first: relaxed, rechecked by return-block.
    do {
      link(block, first);
      // ORDER return-block: release, pairs with take-returned; a failure is relaxed, rechecked by
      // return-block.
    } while (!list.compare_exchange_weak(first, &block, std::memory_order_release,
                                         std::memory_order_relaxed));
  }
  // The only thread of a forked child. Other threads may have been about to give blocks back.
  void forget_returned() {
    for (auto& list : returned_) list.store(nullptr);
  }

 private:
  // ORDER free-link: relaxed, ordered by return-block.
  static Task* next_free(const Task& block) {
    return reinterpret_cast<Task*>(block.index.load(std::memory_order_relaxed));
  }
  static void link(Task& block, Task* next) {
    // ORDER free-link-set: relaxed, ordered by return-block.
    block.index.store(reinterpret_cast<std::uintptr_t>(next), std::memory_order_relaxed);
  }

  [[gnu::noinline, gnu::cold]] Task* refill(std::size_t of_class) {
    // ORDER take-returned: acquire, pairs with return-block.
    Task* first = returned_[of_class].exchange(nullptr, std::memory_order_acquire);
    if (first == nullptr) {
      // The first block of a slab names its home.
      char* const slab =
          static_cast<char*>(::operator new(kSlabBytes, std::align_val_t{kSlabBytes}));
      ::new (slab) Worker*(&home_);
      const std::size_t size = kBlockBytes * (of_class + 1);
      for (std::size_t at = kBlockBytes; at + size <= kSlabBytes; at += size) {
        auto* const block = ::new (slab + at) Task;
        link(*block, std::exchange(first, block));
      }
    }
    free_[of_class] = next_free(*first);
    return first;
  }

  std::array<Task*, kBlockClasses> free_{};
  Worker& home_;
  alignas(128) std::array<std::atomic<Task*>, kBlockClasses> returned_{};
};

// The worker whose slab the block lies in.
inline Worker& home_of(const Task& block) {
  const auto address = reinterpret_cast<std::uintptr_t>(&block) & ~(kSlabBytes - 1);
  return **reinterpret_cast<Worker**>(address);
}

}  // namespace tmk::detail
