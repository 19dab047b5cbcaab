// Memory of tasks: blocks of 64, 128, 192 and 256 bytes, out of slabs that name their worker, the
// home of the blocks. Larger tasks come from the heap. No slab is ever unmapped, so a pointer into
// one never dangles; surplus.hpp gives pages back.
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
// The number of slabs that a worker has, 4 MiB. Further slabs belong to its surplus, whose blocks
// cost more.
inline constexpr std::uint32_t kOwnSlabs = 128;
constexpr std::size_t block_class(std::size_t bytes) { return (bytes - 1) / kBlockBytes; }

// The head of a slab, in its first block.
struct Slab {
  Worker* const home;  // of the other blocks
  // For the thread that looks for slabs of which all blocks are free: the round, the number of free
  // blocks found in it, and the number of these that were passed again.
  std::uint32_t round = 0, found = 0, passed = 0;
};
static_assert(sizeof(Slab) <= kBlockBytes);

// Free blocks form lists of tasks, linked by their index.
inline Task* next_free(const Task& block) {
  // ORDER free-link: relaxed, ordered by return-block.
  return reinterpret_cast<Task*>(block.index.load(std::memory_order_relaxed));
}
inline void link_free(Task& block, Task* next) {
  // ORDER free-link-set: relaxed, ordered by return-block.
  block.index.store(reinterpret_cast<std::uintptr_t>(next), std::memory_order_relaxed);
}
// A list of the blocks of a new slab in that memory.
inline Task* make_blocks(void* memory, Worker& home, std::size_t of_class) {
  ::new (memory) Slab{.home = &home};
  const std::size_t size = kBlockBytes * (of_class + 1);
  Task* first = nullptr;
  for (std::size_t at = kBlockBytes; at + size <= kSlabBytes; at += size) {
    auto* const block = ::new (static_cast<char*>(memory) + at) Task;
    link_free(*block, std::exchange(first, block));
  }
  return first;
}
// bad_alloc.
inline void* allocate_slabs(std::size_t count) {
  return ::operator new(count * kSlabBytes, std::align_val_t{kSlabBytes});
}

// Owner of the worker, which has no free block and all slabs that it may have. Returns a list of
// free blocks of its surplus. bad_alloc.
Task* take_surplus(Worker& worker, std::size_t of_class);

// Free blocks of one home.
class Blocks {
 public:
  explicit constexpr Blocks(Worker& home) : home_(home) {}

  // Owner of the home. Returns a block of the given class. bad_alloc.
  Task* allocate(std::size_t of_class) {
    Task* const block = take_free(of_class);
    return block != nullptr ? block : refill(of_class);
  }
  // The same for a thread that may not have the home yet: null if no block is at hand.
  Task* take_free(std::size_t of_class) {
    Task* const block = free_[of_class];
    if (block != nullptr) [[likely]]
      free_[of_class] = next_free(*block);
    return block;
  }
  // Owner of the home. Takes a block back.
  void keep(Task& block, std::size_t of_class) {
    link_free(block, std::exchange(free_[of_class], &block));
  }
  // Any other thread. Takes a block back.
  void give_back(Task& block, std::size_t of_class) {
    auto& list = returned_[of_class];
    Task* first =
        list.load(std::memory_order_relaxed);  // ORDER first: relaxed, rechecked by return-block.
    do {
      link_free(block, first);
      // ORDER return-block: release, pairs with take-returned; a failure is relaxed, rechecked by
      // return-block.
    } while (!list.compare_exchange_weak(first, &block, std::memory_order_release,
                                         std::memory_order_relaxed));
  }
  // Any thread. The list of all that were given back.
  Task* take_returned(std::size_t of_class) {
    // ORDER take-returned: acquire, pairs with return-block.
    return returned_[of_class].exchange(nullptr, std::memory_order_acquire);
  }
  // The only thread of a forked child. Other threads may have been about to give blocks back.
  void forget_returned() {
    for (auto& list : returned_) list.store(nullptr);
  }

 private:
  [[gnu::noinline, gnu::cold]] Task* refill(std::size_t of_class) {
    Task* first = take_returned(of_class);
    if (first == nullptr && slabs_ < kOwnSlabs) {
      first = make_blocks(allocate_slabs(1), home_, of_class);
      ++slabs_;
    }
    if (first == nullptr) first = take_surplus(home_, of_class);
    free_[of_class] = next_free(*first);
    return first;
  }

  std::array<Task*, kBlockClasses> free_{};
  Worker& home_;
  std::uint32_t slabs_ = 0;
  alignas(128) std::array<std::atomic<Task*>, kBlockClasses> returned_{};
};

inline Slab& slab_of(const Task& block) {
  return *reinterpret_cast<Slab*>(reinterpret_cast<std::uintptr_t>(&block) & ~(kSlabBytes - 1));
}
inline Worker& home_of(const Task& block) { return *slab_of(block).home; }

}  // namespace tmk::detail
