// How a thread gets a worker of a pool and gives it back.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>

#include "deque.hpp"
#include "fence.hpp"
#include "pool_class.hpp"
#include "stack.hpp"
#include "worker.hpp"

namespace tmk::detail {

// Takes a worker of the pool that no thread has, a spare one of the registry, or a new one.
[[gnu::noinline, gnu::cold]] inline Worker& Pool::bind() {
  Worker* worker = workers_.load();
  for (bool expected = false; worker != nullptr; worker = worker->next, expected = false) {
    if (!worker->bound.load() && worker->bound.compare_exchange_strong(expected, true)) break;
  }
  if (worker == nullptr) {
    {
      const std::lock_guard guard(registry().mutex);
      worker = registry().spare;
      if (worker != nullptr) registry().spare = worker->next;
    }
    if (worker != nullptr) worker->reset_counters();
    if (worker == nullptr) worker = new Worker;
    worker->bound.store(true);
    worker->pool = this;
    worker->activity = &activity_;
    worker->quiet = kArmed + target_;
    worker->next = workers_.load();
    while (!workers_.compare_exchange_weak(worker->next, worker)) {
    }
  }
  worker->stack_end = stack_bounds().limit;
  if (!has_membarrier) {                        // nothing is private
    const std::lock_guard guard(worker->lock);  // a thief may look at a used worker
    worker->split.store(kAlways);
    worker->open = kAlways;
  }
  worker->counted = worker->pooled = false;
  worker->thread.store(gettid());
  worker->room_end = 0;  // so the first push calls make_room, which counts the thread
  return *worker;
}
inline Worker* Pool::try_bind() noexcept {
  try {
    return &bind();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

[[gnu::noinline, gnu::cold]] inline void Pool::unbind(Worker& worker) {
  if (std::exchange(worker.counted, false)) leave(worker);
  worker.thread.store(0);
  worker.bound.store(false);  // tasks that it still has are stolen or revoked
}

inline void count_thread(Deque& deque) {
  auto& worker = static_cast<Worker&>(deque);
  if (!std::exchange(worker.counted, true)) worker.pool->enter(worker);
}

inline bool wants_threads(const Deque& deque) {
  const auto& worker = static_cast<const Worker&>(deque);
  return worker.activity->load() < worker.quiet;
}

inline void wake_thread(Deque& deque) {
  auto& worker = static_cast<Worker&>(deque);
  worker.pool->wake(worker);
}

inline void note_signals(Deque& deque) { static_cast<Worker&>(deque).pool->note_signals(); }

}  // namespace tmk::detail
