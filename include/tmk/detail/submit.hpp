// The functions that make a task pending.
#pragma once

#include <atomic>
#include <cstddef>
#include <new>

#include "entry.hpp"
#include "pool.hpp"
#include "task.hpp"
#include "this_worker.hpp"
#include "worker.hpp"

namespace tmk::detail {

// The rest of a push: wakes a thread if one may run.
inline bool may_wake(const Worker& worker) {
  // ORDER look-for-sleepers: relaxed, ordered by light-fence.
  return worker.activity->load(std::memory_order_relaxed) < worker.quiet;
}
inline void wake(Worker& worker) {
  worker.share();
  worker.pool->wake(worker);
}
inline void look_for_sleepers(Worker& worker) {
  if (may_wake(worker)) [[unlikely]]
    wake(worker);
}
// Makes a task pending. `siblings`: the mark of tasks that are mostly awaited oldest first, or 0.
// bad_alloc.
inline void submit(Worker& worker, Task& task, Entry siblings = 0) {
  worker.push(task, siblings);
  look_for_sleepers(worker);
}
// The place for a branch, for a thread whose worker has no room or is unbound_worker. Afterwards
// the thread has a bound worker. If there is no memory for room, the place is in no deque.
[[gnu::noinline, gnu::cold]] inline Place make_place_for_branch() noexcept {
  try {
    Worker& worker = this_worker();
    return {&worker, worker.place_with_room()};
  } catch (const std::bad_alloc&) {
    return {nullptr, Task::claimed};
  }
}
inline Place place_for_branch(Worker*& worker) noexcept {
  if (const std::size_t b = worker->next_place(); b < worker->room_end) [[likely]]
    return {worker, b};
  const Place made = make_place_for_branch();
  if (made.deque != nullptr) worker = static_cast<Worker*>(made.deque);
  return made;
}
// Makes a branch pending that was constructed with this place.
inline void submit_branch(Worker& worker, Task& task, Place place) {
  if (!worker.try_publish(task, place.index, kBranch)) [[unlikely]]
    worker.push_slowly(place.index);
  look_for_sleepers(worker);
}

}  // namespace tmk::detail
