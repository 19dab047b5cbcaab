// The list of the tasks of a task_scope that its owner has started. It costs the owner no atomic
// read-modify-write.
#pragma once

#include <sched.h>

#include <atomic>
#include <utility>

#include "fence.hpp"
#include "state.hpp"

namespace tmk::detail {

// One task of a scope.
struct ScopeLink {
  ScopeLink* next = nullptr;
  State<void>& state;
};

// A list to which one worker, its owner, adds without a lock until a waiter with another worker
// takes the list over. It is Dekker's pattern with the asymmetric fence (see scheduler.md): either
// the owner sees adopted_, or the waiter sees adding_ and waits until the owner has added.
class OwnLinks {
 public:
  bool add(ScopeLink& link) noexcept {
    // ORDER adding: relaxed, ordered by light-fence.
    adding_.store(true, std::memory_order_relaxed);
    light_fence();
    // ORDER see-adopted: relaxed, ordered by light-fence.
    const bool own = !adopted_.load(std::memory_order_relaxed);
    if (own) link.next = std::exchange(newest, &link);
    adding_.store(false, std::memory_order_release);  // ORDER added: release, pairs with see-added.
    return own;
  }
  void adopt() noexcept {
    // ORDER adopt: seq_cst, ordered by heavy-fence.
    adopted_.store(true);
    heavy_fence();
    // ORDER see-added: acquire, pairs with added. The waiter sees what the owner has added.
    while (adding_.load(std::memory_order_acquire)) sched_yield();
  }

  ScopeLink* newest = nullptr;

 private:
  std::atomic<bool> adding_{false};
  std::atomic<bool> adopted_{!has_membarrier};
};

}  // namespace tmk::detail
