// The head of every shared state: of a task in a deque, of a deferred call, of a promise. It holds
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
inline constexpr std::uint32_t kAwaited = 32;    // a coroutine waits; `index` says by which task

// The address of a task that was made with siblings is a multiple of kTaskAlignment (see
// entry.hpp).
inline constexpr std::size_t kTaskAlignment = 64;

// The deque of a pending task, and the place there.
struct Place {
  Deque* deque;
  std::size_t index;
};

struct Task {
  Task() = default;
  explicit Task(Place place) : deque(place.deque), index(place.index) {}

  static constexpr std::size_t claimed = SIZE_MAX - 1;  // no place, nor the one below a place

  std::atomic<std::uint32_t> state{0};
  std::atomic<std::uint32_t> references{0};  // beyond the first, so that a new head is zero
  const Operations* operations = nullptr;
  Deque* deque = nullptr;  // that it was pushed to; null: none
  std::atomic<std::size_t> index{
      0};  // its place there, or `claimed`; of free memory: see task_memory.hpp

  bool ready() const {
    // ORDER see-ready: acquire, pairs with publish-ready. With kReady comes the outcome.
    return (state.load(std::memory_order_acquire) & kReady) != 0;
  }
  // Returns the word with which a waiter may go to sleep: from now on publish() wakes the waiter.
  std::uint32_t announce_wait() { return state.fetch_or(kWaited) | kWaited; }
  // Makes the task ready: the outcome is in place (`failed`: an exception). This is the last access
  // of the runner.
  void publish(bool failed) {
    const std::uint32_t bits = kReady | (failed ? kFailed : 0u);
    // ORDER publish-ready: release, pairs with see-ready.
    const std::uint32_t before = state.fetch_or(bits, std::memory_order_release);
    TMK_ASSERT((before & kReady) == 0);
    if ((before & (kWaited | kAwaited)) != 0) [[unlikely]]
      notify(before);
  }
  // The waiter has the only future and sees the task claimed. It leaves a task of its own, which
  // publish() runs. False: this task is ready, and publish() runs nothing.
  bool await(Task& resumption) {
    // ORDER set-awaiter: relaxed, ordered by see-awaiter. No other thread uses the index of a task
    // that is claimed.
    index.store(reinterpret_cast<std::size_t>(&resumption), std::memory_order_relaxed);
    // ORDER announce-await: seq_cst, pairs with see-awaiter.
    return (state.fetch_or(kAwaited) & kReady) == 0;
  }
  void release() {
    // ORDER last-reference: acq_rel, and acquire of the only reference, pairs with last-reference.
    // The thread that destroys sees what all others did before they let go.
    if (references.load(std::memory_order_acquire) == 0 ||
        references.fetch_sub(1, std::memory_order_acq_rel) == 0) {
      operations->destroy(*this);
    }
  }

 private:
  // Wakes the waiter that has set these bits. A coroutine that waits keeps the task alive until the
  // coroutine is resumed.
  [[gnu::noinline]] void notify(std::uint32_t bits) {
    Task* resumption = nullptr;
    if ((bits & kAwaited) != 0) {
      // ORDER see-awaiter: acquire, pairs with announce-await.
      static_cast<void>(state.load(std::memory_order_acquire));
      // ORDER awaiter: relaxed, ordered by see-awaiter.
      resumption = reinterpret_cast<Task*>(index.load(std::memory_order_relaxed));
    }
    if ((bits & kWaited) != 0) futex_wake(state, INT_MAX);
    if (resumption != nullptr) resumption->operations->run(*resumption);
  }
};

}  // namespace tmk::detail
