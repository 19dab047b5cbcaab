// The slabs that a worker needs beyond the first few. Their blocks are never in the owner's plain
// lists for longer than a refill takes them out. So any thread can look for slabs of which all
// blocks are free, and give their pages back to the system. scheduler.md argues why.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <new>
#include <utility>

#include "spin_lock.hpp"
#include "task.hpp"
#include "task_memory.hpp"
#include "worker.hpp"

namespace tmk::detail {

// Slabs whose pages the system has. The first page of such a slab lists others.
struct Emptied {
  static constexpr std::size_t kMost =
      (std::min<std::size_t>(kSlabBytes, 4096) - 2 * sizeof(void*)) / sizeof(void*);
  Emptied* next;
  std::size_t count;
  void* slabs[kMost];

  static void add(Emptied*& list, void* slab) {
    if (list != nullptr && list->count != kMost) {
      list->slabs[list->count++] = slab;
    } else {
      auto* const added = ::new (slab) Emptied;
      added->next = std::exchange(list, added);
      added->count = 0;
    }
  }
  // Null if there is none.
  static void* take(Emptied*& list) {
    if (list == nullptr) return nullptr;
    if (list->count != 0) return list->slabs[--list->count];
    return std::exchange(list, list->next);
  }
};
static_assert(sizeof(Emptied) <= kSlabBytes);

class Surplus {
 public:
  // Owner of the worker. A list of free blocks: a few, or those of a slab, so that the other blocks
  // stay visible to a thread that looks for empty slabs. bad_alloc.
  Task* take(std::size_t of_class) {
    if (Kept& kept = kept_[of_class]; kept.count != 0) {
      kept.count = 0;
      return std::exchange(kept.first, nullptr);
    }
    void* memory = nullptr;
    {
      const std::lock_guard guard(lock_);
      if (Task* const batch = batches_[of_class]) {
        batches_[of_class] = next_batch(*batch);
        return batch;
      }
      Task*& stock = stock_[of_class];
      if (stock == nullptr) stock = home_.blocks.take_returned(of_class);
      if (stock != nullptr) {
        Task* last = stock;
        for (std::uint32_t more = kFewBlocks - 1; more != 0; --more) {
          if (next_free(*last) == nullptr) break;
          last = next_free(*last);
        }
        Task* const first = std::exchange(stock, next_free(*last));
        link_free(*last, nullptr);
        return first;
      }
      memory = Emptied::take(emptied_);
    }
    if (memory == nullptr) memory = allocate_some();
    slabs_.fetch_add(1);
    return make_blocks(memory, home_, of_class);
  }

  // Owner of the worker. Takes a block back, as others do with home().blocks, but without a locked
  // instruction for each block.
  void keep(Task& block, std::size_t of_class) {
    Kept& kept = kept_[of_class];
    link_free(block, std::exchange(kept.first, &block));
    if (++kept.count < kFewBlocks) return;
    const std::lock_guard guard(lock_);
    link_batch(*kept.first, std::exchange(batches_[of_class], kept.first));
    kept = {};
  }
  const Worker& home() const { return home_; }

  // Any thread, one at a time. Gives the system the pages of each slab of which all blocks are
  // free.
  void give_pages_back() {
    ++round_;
    for (std::size_t of_class = 0; of_class < kBlockClasses; ++of_class) {
      Task *batches, *stock, *returned;
      {
        const std::lock_guard guard(lock_);
        batches = std::exchange(batches_[of_class], nullptr);
        stock = std::exchange(stock_[of_class], nullptr);
        returned = home_.blocks.take_returned(of_class);
      }
      const auto each_block = [&](const auto& body) {
        const auto each_of = [&](Task* block) {
          while (block != nullptr) body(*std::exchange(block, next_free(*block)));
        };
        for (Task* batch = batches; batch != nullptr;) {
          each_of(std::exchange(batch, next_batch(*batch)));
        }
        each_of(stock);
        each_of(returned);
      };
      each_block([&](const Task& block) { count_in(block); });
      Task *kept = nullptr, *last = nullptr;
      each_block([&](Task& block) {
        Slab& slab = slab_of(block);
        if (slab.found != blocks_of_slab(of_class)) {
          if (kept == nullptr) last = &block;
          link_free(block, std::exchange(kept, &block));
        } else if (++slab.passed == slab.found) {  // its last block in the lists
          drop(&slab);
          slabs_.fetch_sub(1);
          const std::lock_guard guard(lock_);
          Emptied::add(emptied_, &slab);
        }
      });
      if (kept == nullptr) continue;
      const std::lock_guard guard(lock_);
      link_free(*last, std::exchange(stock_[of_class], kept));
    }
  }
  // Whether some slab has pages of the system: a hint.
  bool has_pages() const { return slabs_.load() != 0; }

  // The only thread of a forked child. Other threads may have been about to change all these
  // members.
  void forget() {
    lock_.unlock();
    home_.blocks.forget_returned();
    batches_ = stock_ = {};
    emptied_ = nullptr;
    slabs_.store(0);
  }

 private:
  static constexpr std::uint32_t kFewBlocks = 64;
  struct Kept {
    Task* first = nullptr;
    std::uint32_t count = 0;
  };
  // A batch is a list of a few free blocks. Batches are linked by the deque of their first block.
  static Task* next_batch(const Task& first) { return reinterpret_cast<Task*>(first.deque); }
  static void link_batch(Task& first, Task* next) { first.deque = reinterpret_cast<Deque*>(next); }

  static constexpr std::size_t blocks_of_slab(std::size_t of_class) {
    return (kSlabBytes - kBlockBytes) / (kBlockBytes * (of_class + 1));
  }
  // Allocates many slabs at once, because the allocator keeps pages in use between slabs that are
  // allocated one by one. Returns one slab; the others are in the list.
  void* allocate_some() {
    constexpr std::size_t kAtOnce = 32;
    auto* const first = static_cast<std::byte*>(allocate_slabs(kAtOnce));
    const std::lock_guard guard(lock_);
    for (std::size_t i = kAtOnce; --i != 0;) Emptied::add(emptied_, first + i * kSlabBytes);
    return first;
  }
  void count_in(const Task& block) {
    Slab& slab = slab_of(block);
    if (std::exchange(slab.round, round_) != round_) slab.found = slab.passed = 0;
    ++slab.found;
  }
  // The memory stays ours, but its contents are dropped.
  static void drop(void* slab) {
    // With larger pages the call would reach beyond the slab.
    if (sysconf(_SC_PAGESIZE) <= static_cast<long>(kSlabBytes)) {
      madvise(slab, kSlabBytes, MADV_DONTNEED);
    }
  }

  Worker home_;                             // of the blocks; no thread ever is its owner
  std::array<Kept, kBlockClasses> kept_{};  // the owner's alone
  std::atomic<std::uint32_t> slabs_{0};     // that are not in emptied_
  std::uint32_t round_ = 0;
  SpinLock lock_;
  // Under the lock: free blocks in batches, and others.
  std::array<Task*, kBlockClasses> batches_{}, stock_{};
  Emptied* emptied_ = nullptr;  // under the lock
};

[[gnu::noinline, gnu::cold]] inline Task* take_surplus(Worker& worker, std::size_t of_class) {
  Surplus* surplus = worker.surplus.load();
  if (surplus == nullptr) worker.surplus.store(surplus = new Surplus);
  return surplus->take(of_class);
}

// Any thread but the owner of the home. Takes a block back.
[[gnu::noinline]] inline void give_back(Worker& home, Task& block, std::size_t of_class) {
  Surplus* const own = current_worker->surplus.load();
  if (own != nullptr && &own->home() == &home) {
    own->keep(block, of_class);
  } else {
    home.blocks.give_back(block, of_class);
  }
}

}  // namespace tmk::detail
