// How async makes a task: the call becomes a state in a free block, and the state becomes pending.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "entry.hpp"
#include "state_memory.hpp"
#include "task.hpp"
#include "task_memory.hpp"
#include "this_worker.hpp"
#include "worker.hpp"

namespace tmk::detail {

// The form in which a part of a call reaches spawn(): by value if it fits in two registers and no
// program can see that it is copied once more, else by reference.
template <class T, class D = std::decay_t<T>>
using Spawning =
    std::conditional_t<std::is_trivially_copyable_v<D> && std::is_trivially_constructible_v<D, T> &&
                           std::is_trivially_move_constructible_v<D> &&
                           sizeof(D) <= 2 * sizeof(void*),
                       D, T&&>;

// The last step of spawn() if there is no room or no free block, or if the place is shared.
template <class S>
[[gnu::noinline, gnu::cold]] S* push_anew(S* state, Worker& worker, Entry siblings) {
  try {
    worker.push(*state, siblings);
  } catch (...) {
    S::destroy(*state);
    throw;
  }
  return state;
}
template <class S, class... P>
[[gnu::noinline, gnu::cold]] S* spawn_slowly(Entry siblings, P... parts) {
  Worker* worker = current_worker;
  S* const state = make_state<S>(worker, std::in_place, static_cast<P&&>(parts)...);
  return push_anew(state, *worker, siblings);
}
template <class S>
[[gnu::noinline, gnu::cold]] S* push_made(S* state, Worker& worker) {
  worker.push_slowly(worker.next_place() - 1);
  return state;
}

// Makes a call a pending task. bad_alloc, or what the construction of the call throws. The function
// is not inlined, and each step that is not fast is its last one: so it saves no registers, and its
// caller has the future in a register.
template <class S, class... P>
[[gnu::noinline, gnu::returns_nonnull]] S* spawn(P... parts) {
  const Entry siblings = siblings_here();
  if constexpr (fits_block<S>) {
    Worker& worker = *current_worker;
    const Place place{&worker, worker.next_place()};
    Task* const block =
        place.index < worker.room_end ? worker.blocks.take_free(block_class(sizeof(S))) : nullptr;
    if (block != nullptr) [[likely]] {
      S* const state = construct_state<S>(block, place, std::in_place, static_cast<P&&>(parts)...);
      if constexpr ((std::is_reference_v<P> || ...)) {  // the construction may have made tasks
        if (worker.next_place() != place.index || place.index >= worker.room_end) [[unlikely]]
          return push_anew(state, worker, siblings);
      }
      if (!worker.try_publish(*state, place.index, siblings)) [[unlikely]]
        return push_made(state, worker);
      return state;
    }
  }
  return spawn_slowly<S, P...>(siblings, static_cast<P&&>(parts)...);
}

}  // namespace tmk::detail
