// How a task is made pending.
#pragma once

#include <atomic>

#include "entry.hpp"
#include "pool.hpp"
#include "task.hpp"
#include "worker.hpp"

namespace tmk::detail {

// Makes a task pending. `siblings`: the mark of tasks that are mostly awaited oldest first, or 0.
// bad_alloc.
inline void submit(Worker& worker, Task& task, Entry siblings = 0) {
  worker.push(task, siblings);
  // ORDER look-for-sleepers: relaxed, ordered by light-fence.
  if (worker.activity->load(std::memory_order_relaxed) < worker.quiet) [[unlikely]] {
    worker.share();
    worker.pool->wake(worker);
  }
}

}  // namespace tmk::detail
