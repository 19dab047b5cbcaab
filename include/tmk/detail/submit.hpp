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

// The rest of a push at a place that is shared: wakes a thread if one may run.
[[gnu::noinline, gnu::cold]] inline void push_slowly(Worker& worker, std::size_t i) {
  worker.push_slowly(i);
  if (wants_threads(worker)) worker.pool->wake(worker);
}
// Makes a task pending. `siblings`: the mark of tasks that are mostly awaited oldest first, or 0.
// bad_alloc.
inline void submit(Worker& worker, Task& task, Entry siblings = 0) {
  const std::size_t b = worker.place_with_room();
  if (!worker.try_push_at(b, task, siblings)) [[unlikely]]
    push_slowly(worker, b);
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
    push_slowly(worker, place.index);
}

}  // namespace tmk::detail
