// The end of a pool: the closing thread runs the pending tasks and waits for the pool's threads.
#pragma once

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <mutex>
#include <utility>

#include "deque.hpp"
#include "futex.hpp"
#include "pool_class.hpp"
#include "worker.hpp"

namespace tmk::detail {

inline void Pool::close(Pool* pool) {
  bool inside = false;
  each_worker_of(pool->workers_.load(), gettid(), [&](Worker& /*own*/) { inside = true; });
  if (!inside) delete pool;
}

inline Pool::~Pool() {
  // The pool may have no thread of its own to run the tasks that are left. If there is no memory
  // for a worker, the waiters run them.
  if (Worker* const self = workers_.load() == nullptr ? nullptr : try_bind()) {
    Worker* const before = std::exchange(current_worker, self);
    count_thread(*self);
    closing_.store(true);
    // A thread of the pool that neither runs nor sleeps in park() waits within a task, or is about
    // to end.
    const auto is_busy = [this](std::uint32_t activity) {
      const std::uint32_t own = threads_.load() - (watched_.load() ? 1 : 0);
      return (activity & kRunning) != 0 || parked_.load() < own;
    };
    do {
      run_until_idle(*self);
      leave(*self);
      for (std::uint32_t now = activity_.load(); is_busy(now); now = activity_.load()) {
        // The wait has a deadline because the end of a thread wakes no waiter here.
        const timespec soon = deadline_in(std::chrono::milliseconds(10));
        futex_wait_until(activity_, now, &soon);
      }
      enter(*self);
    } while (has_pending());
    current_worker = before;
    unbind(*self);
  }
  stopping_.store(true);
  alarm_.store(1);
  futex_wake(alarm_, 1);
  for (std::uint32_t left = threads_.load(); left != 0; left = threads_.load()) {
    tokens_.fetch_add(left);
    futex_wake(tokens_, INT_MAX);
    const timespec soon = deadline_in(std::chrono::milliseconds(100));
    futex_wait_until(threads_, left, &soon);
  }
  give_pages_back();
  delete distances_.load();
  const std::lock_guard guard(registry().mutex);
  Pool** link = &registry().pools;
  while (*link != this) link = &(*link)->next_;
  *link = next_;
  for (Worker* worker = workers_.load(); worker != nullptr;) {
    Worker* const next = worker->next;
    worker->starving.store(false);
    worker->next = std::exchange(registry().spare, worker);
    worker = next;
  }
}

}  // namespace tmk::detail
