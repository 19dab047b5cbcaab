// Memory of shared states: a block of the worker or, for a large state, the heap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>

#include "surplus.hpp"
#include "task.hpp"
#include "task_memory.hpp"
#include "this_worker.hpp"
#include "worker.hpp"

namespace tmk::detail {

// Whether a state lies in a worker's block; else it comes from the heap.
template <class S>
inline constexpr bool fits_block =
    sizeof(S) <= kBlockBytes * kBlockClasses && alignof(S) <= kBlockBytes;

template <class S>
inline constexpr std::align_val_t heap_alignment{std::max(alignof(S), kBlockBytes)};

// The worker may be unbound_worker, which has no blocks: the function then replaces it by a bound
// worker.
template <class S>
void* allocate_state(Worker*& worker) {
  if constexpr (fits_block<S>) {
    constexpr std::size_t of_class = block_class(sizeof(S));
    if (Task* const block = worker->blocks.take_free(of_class)) [[likely]]
      return block;
    worker = &this_worker();
    return worker->blocks.allocate(of_class);
  } else {
    worker = &this_worker();
    return ::operator new(sizeof(S), heap_alignment<S>);
  }
}
// Whether the state lies in a block of the calling thread's worker.
template <class S>
bool is_own(const S& state) {
  if constexpr (fits_block<S>) return &home_of(state) == current_worker;
  return false;
}
// The members of the state have ended. Only its head lives on, as a free block.
template <class S>
void free_state(S* state) noexcept {
  if constexpr (!fits_block<S>) {
    ::operator delete(state, sizeof(S), heap_alignment<S>);
  } else if (is_own(*state)) {
    current_worker->blocks.keep(*state, block_class(sizeof(S)));
  } else {
    give_back(home_of(*state), *state, block_class(sizeof(S)));
  }
}
// A head in memory for an S, so that free_state can take the memory back if no S was constructed.
template <class S>
struct alignas(S) Blank : Task {
  std::byte rest[sizeof(S) - sizeof(Task)];
};
// A state in that memory, which goes back if the construction throws.
template <class S, class... A>
S* construct_state(void* memory, A&&... arguments) {
  struct Memory {
    void* memory;
    ~Memory() {
      if (memory != nullptr) free_state(::new (memory) Blank<S>);
    }
  } owned{memory};
  S* const made = ::new (owned.memory) S(std::forward<A>(arguments)...);
  owned.memory = nullptr;
  return made;
}
// A state in memory of the calling thread's worker.
template <class S, class... A>
S* make_state(Worker*& worker, A&&... arguments) {
  return construct_state<S>(allocate_state<S>(worker), std::forward<A>(arguments)...);
}

}  // namespace tmk::detail
