// The place of a branch in its maker's deque.
#pragma once

#include <cstddef>
#include <new>

#include "task.hpp"
#include "this_worker.hpp"
#include "worker.hpp"

namespace tmk::detail {

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

}  // namespace tmk::detail
