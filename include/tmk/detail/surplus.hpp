// The slabs that a worker needs beyond the first few. Their blocks are never in the owner's plain
// lists for longer than a refill takes them out, so any thread can look for slabs of which all
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

// Slabs whose pages the system has. The first page of one of them lists others.
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
  // Owner of the worker. A list of free blocks: no more than a slab has, so that the others are
  // there for who looks for empty slabs. bad_alloc.
  Task* take(std::size_t of_class) {
    void* memory = nullptr;
    {
      const std::lock_guard guard(lock_);
      Task*& stock = stock_[of_class];
      if (stock == nullptr) stock = home_.blocks.take_returned(of_class);
      if (stock != nullptr) {
        Task* last = stock;
        for (std::size_t more = blocks_of_slab(of_class) - 1; more != 0; --more) {
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

  // Any thread, one at a time. Gives the system the pages of each slab of which all blocks are
  // free.
  void give_pages_back() {
    ++round_;
    for (std::size_t of_class = 0; of_class < kBlockClasses; ++of_class) {
      std::array<Task*, 2> lists;
      {
        const std::lock_guard guard(lock_);
        lists = {std::exchange(stock_[of_class], nullptr), home_.blocks.take_returned(of_class)};
      }
      for (const Task* first : lists) {
        for (const Task* each = first; each != nullptr; each = next_free(*each)) count_in(*each);
      }
      Task *kept = nullptr, *last = nullptr;
      for (Task* first : lists) {
        for (Task* each = first; each != nullptr;) {
          Task* const next = next_free(*each);
          Slab& slab = slab_of(*each);
          if (slab.found != blocks_of_slab(of_class)) {
            if (kept == nullptr) last = each;
            link_free(*each, std::exchange(kept, each));
          } else if (++slab.passed == slab.found) {  // its last block in the lists
            drop(&slab);
            slabs_.fetch_sub(1);
            const std::lock_guard guard(lock_);
            Emptied::add(emptied_, &slab);
          }
          each = next;
        }
      }
      if (kept == nullptr) continue;
      const std::lock_guard guard(lock_);
      link_free(*last, std::exchange(stock_[of_class], kept));
    }
  }
  // Whether some slab has pages of the system: a hint.
  bool has_pages() const { return slabs_.load() != 0; }

  // The only thread of a forked child. Other threads may have been about to change all this.
  void forget() {
    lock_.unlock();
    home_.blocks.forget_returned();
    stock_ = {};
    emptied_ = nullptr;
    slabs_.store(0);
  }

 private:
  static constexpr std::size_t blocks_of_slab(std::size_t of_class) {
    return (kSlabBytes - kBlockBytes) / (kBlockBytes * (of_class + 1));
  }
  // Many at once: between slabs that are allocated one by one, the allocator keeps pages in use.
  // Returns one; the others are in the list.
  void* allocate_some() {
    constexpr std::size_t kAtOnce = kOwnSlabs;
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
  // The memory stays ours, but nothing is in it.
  static void drop(void* slab) {
    // With larger pages the call would reach beyond the slab.
    if (sysconf(_SC_PAGESIZE) <= static_cast<long>(kSlabBytes)) {
      madvise(slab, kSlabBytes, MADV_DONTNEED);
    }
  }

  Worker home_;                          // of the blocks; no thread ever is its owner
  std::atomic<std::uint32_t> slabs_{0};  // that are not in emptied_
  std::uint32_t round_ = 0;
  SpinLock lock_;
  std::array<Task*, kBlockClasses> stock_{};  // under the lock: free blocks
  Emptied* emptied_ = nullptr;                // under the lock
};

[[gnu::noinline, gnu::cold]] inline Task* take_surplus(Worker& worker, std::size_t of_class) {
  Surplus* surplus = worker.surplus.load();
  if (surplus == nullptr) worker.surplus.store(surplus = new Surplus);
  return surplus->take(of_class);
}

}  // namespace tmk::detail
