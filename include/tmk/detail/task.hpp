// The head of every shared state: of a task in a deque, of a deferred call, of a promise. It says
// whether a thread has claimed the call, whether the outcome is there, and how many handles share
// the state.
#pragma once

#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>

#include "assertion.hpp"
#include "futex.hpp"

namespace tmk::detail {

struct Deque;
struct Task;

struct Operations {
  void (*run)(Task&);  // calls the callable, leaves the outcome in the state; null: there is none
  void (*destroy)(Task&) noexcept;  // ends what the state holds and gives its memory back
};

// Bits of Task::state.
inline constexpr std::uint32_t kReady = 1;    // the outcome is there, the runner has left the task
inline constexpr std::uint32_t kWaited = 2;   // a thread sleeps on the word
inline constexpr std::uint32_t kFailed = 4;   // the outcome is an exception; set with kReady
inline constexpr std::uint32_t kStarted = 8;  // a deferred call has a runner, a promise an outcome
inline constexpr std::uint32_t kRetrieved = 16;  // a promise has handed its future out

// The address of a task that was made with siblings is a multiple of it (see entry.hpp).
inline constexpr std::size_t kTaskAlignment = 64;

struct Task {
  static constexpr std::size_t claimed = SIZE_MAX;

  std::atomic<std::uint32_t> state{0};
  std::atomic<std::uint32_t> references{1};
  const Operations* operations = nullptr;
  Deque* deque = nullptr;  // to which it was pushed; null: to none
  std::atomic<std::size_t> index{
      0};  // its place there, or `claimed`; of free memory: see task_memory.hpp

  bool ready() const {
    // ORDER see-ready: acquire, pairs with publish-ready. With kReady comes the outcome.
    return (state.load(std::memory_order_acquire) & kReady) != 0;
  }
  // The word with which a waiter may go to sleep: from now on publish() wakes it.
  std::uint32_t announce_wait() { return state.fetch_or(kWaited) | kWaited; }
  // The outcome is in place (`failed`: an exception). The last access of the runner.
  void publish(bool failed) {
    const std::uint32_t bits = kReady | (failed ? kFailed : 0u);
    // ORDER publish-ready: release, pairs with see-ready.
    const std::uint32_t before = state.fetch_or(bits, std::memory_order_release);
    TMK_ASSERT((before & kReady) == 0);
    if ((before & kWaited) != 0) futex_wake(state, INT_MAX);
  }
  void release() {
    // ORDER last-reference: acq_rel, and acquire of the only reference, pairs with last-reference.
    // The thread that destroys sees what all others did before they let go.
    if (references.load(std::memory_order_acquire) == 1 ||
        references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      operations->destroy(*this);
    }
  }
};

}  // namespace tmk::detail
