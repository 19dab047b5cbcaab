// A thread's wait for a task. The thread runs the task itself if no other thread has claimed it.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <ctime>

#include "futex.hpp"
#include "pool.hpp"
#include "task.hpp"
#include "this_worker.hpp"
#include "worker.hpp"

namespace tmk::detail {

// Blocks until the task is ready. Returns false if the deadline, if any, passes first. `helps`:
// tasks that have to end before this one may run on this thread meanwhile.
inline bool block_until(Task& task, const timespec* deadline = nullptr, bool helps = false) {
  Worker& worker = *current_worker;  // a thread that has none does not count as running
  // The thread spins for some tens of microseconds, in which short tasks end, because a sleep and a
  // wake-up cost as much. It spins for less than one microsecond when a task is pending, because
  // another thread could use the place. A waiter that helps keeps its place, because the pending
  // tasks are mostly its own and come next. A thread in its place would begin them, and be one too
  // many when the waiter goes on.
  const int most = helps ? 4'000 : 2'000;
  for (int spins = 0; spins < most; ++spins) {
    if (task.ready()) return true;
    pause();
    const bool brief = deadline != nullptr || &worker == &unbound_worker;
    if (spins % 64 != 63) continue;
    if (helps && !brief) {
      const Helped helped = worker.pool->help(worker, task);
      if (helped == Helped::yes) spins = 0;
      if (helped != Helped::no) continue;
    }
    if (brief || (!helps && worker.pool->has_work())) break;
    sched_yield();  // to the runner, if it is on this processor
  }
  if (&worker != &unbound_worker) worker.blocked.increment();
  const bool counted = worker.counted;
  if (counted) worker.pool->leave(worker);
  bool timed_out = false;
  while (!task.ready() && !timed_out) {
    if (const std::uint32_t seen = task.announce_wait(); (seen & kReady) == 0) {
      timed_out = !futex_wait_until(task.state, seen, deadline);
    }
  }
  if (counted) worker.pool->enter(worker);
  return task.ready();
}

// A waiter's finding: the task is ready now; another thread has claimed it; or it is pending, but
// the waiter has not enough stack for it.
enum class Found { ready, claimed, pending };

// Claims a task that is pending and runs it in place.
inline Found run_in_place(Task& task) {
  if (task.ready()) return Found::ready;
  if (task.operations->run == nullptr) return Found::claimed;  // by a promise or a thread
  if (task.deque == nullptr) {                                 // deferred
    if ((task.state.fetch_or(kStarted) & kStarted) != 0) return Found::claimed;
  } else {
    Worker* const self = try_this_worker();
    if (self != nullptr && !stack_left(*self) && self->pool->has_help()) return Found::pending;
    const bool own = task.deque == self;
    if (!(own ? self->take(task) : task.deque->revoke(task))) return Found::claimed;
    if (!own && self != nullptr) self->revoked.increment();
    // ORDER mark-taken: relaxed, rechecked by read-locked: a waiter that reads the earlier index
    // does not find the task at the place. If the task waits for itself, it does not run again.
    task.index.store(Task::claimed, std::memory_order_relaxed);
  }
  task.operations->run(task);
  return Found::ready;
}
// Returns when the task is ready.
inline void wait_until_ready(Task& task) {
  if (run_in_place(task) != Found::ready) block_until(task);
}
// The same for a branch or a task of a scope: before the thread sleeps, it runs the tasks that have
// to end before that task.
[[gnu::noinline, gnu::cold]] inline void wait_for_branch(Task& task) {
  if (run_in_place(task) != Found::ready) block_until(task, nullptr, true);
}

}  // namespace tmk::detail
