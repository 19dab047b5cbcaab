// How a task is made pending.
#pragma once

#include <atomic>
#include <cstddef>

#include "entry.hpp"
#include "pool.hpp"
#include "task.hpp"
#include "this_worker.hpp"
#include "worker.hpp"

namespace tmk::detail {

// The rest of a push.
inline void look_for_sleepers(Worker& worker) {
  // ORDER look-for-sleepers: relaxed, ordered by light-fence.
  if (worker.activity->load(std::memory_order_relaxed) < worker.quiet) [[unlikely]] {
    worker.share();
    worker.pool->wake(worker);
  }
}
// Makes a task pending. `siblings`: the mark of tasks that are mostly awaited oldest first, or 0.
// bad_alloc.
inline void submit(Worker& worker, Task& task, Entry siblings = 0) {
  worker.push(task, siblings);
  look_for_sleepers(worker);
}
// The same of a branch, for a thread whose current_worker may stand for none, which has no room: it
// is another one afterwards. bad_alloc.
inline void submit_branch(Worker*& worker, Task& task) {
  std::size_t b = worker->next_place();
  if (b >= worker->room_end) [[unlikely]] {
    worker = &this_worker();
    b = worker->place_with_room();
  }
  worker->push_at(b, task, kBranch);
  look_for_sleepers(*worker);
}

}  // namespace tmk::detail
