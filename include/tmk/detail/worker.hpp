// A worker: the deque and the memory of the tasks that one thread makes. Do not confuse a worker
// with a thread: a thread binds a worker when it first uses tmk and gives it back when it ends.
// Workers are never freed, so a pointer to one never dangles.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "compiler.hpp"
#include "counter.hpp"
#include "deque.hpp"
#include "entry.hpp"
#include "stack.hpp"
#include "task_memory.hpp"

namespace tmk::detail {

class Pool;
class Surplus;

struct alignas(128) Worker : Deque {
  // ---- written by the owner ----
  const std::atomic<std::uint32_t>* activity = nullptr;  // of the pool
  std::uint32_t quiet = 0;       // activity from which a push wakes no thread
  std::uintptr_t stack_end = 0;  // below it no task is run in place any more
  bool pooled = false;           // its thread is one of the pool's own
  bool counted = false;          // activity counts its thread when it runs
  // Claims, beside Deque::taken: the claims in `taken` that the thread made between tasks, those of
  // a waiter from another worker, and those of a thief. `blocked` counts waits that slept.
  Counter popped, revoked, stolen, blocked;
  Blocks blocks{*this};
  std::atomic<Surplus*> surplus{nullptr};  // made when the first slab of it is; then it stays
  // ---- written by other threads too ----
  Pool* pool = nullptr;
  std::atomic<pid_t> thread{0};
  std::atomic<int> processor{-1};     // that its thread last noted
  std::atomic<bool> active{false};    // counted in activity now
  std::atomic<bool> starving{false};  // the oldest task must run before all others
  std::atomic<bool> bound{false};     // a thread has the worker
  std::atomic<bool> parked{false};    // its thread sleeps, or soon does, until a token comes
  Worker* next = nullptr;             // in the pool's list, or among the spare ones
  // ---- written by the watchdog: what it saw when it last looked ----
  std::int64_t seen_cpu_ns = 0;
  std::size_t seen_bottom = 0;
  Entry seen_oldest = 0;
  std::uint32_t oldest_age = 0;  // the looks for which seen_oldest has stayed the oldest
  std::uint64_t seen_scheduled = 0;
  bool seen_asleep = false;

  // For the thread that has the worker alone, before the worker goes to another pool.
  void reset_counters() {
    for (Counter* each : {&taken, &popped, &revoked, &stolen, &blocked}) each->reset();
  }
};

// Calls `body` with each worker of a list that the thread has.
template <class F>
void each_worker_of(Worker* first, pid_t thread, const F& body) {
  for (Worker* w = first; w != nullptr;) {
    Worker* const next = w->next;
    if (w->thread.load() == thread) body(*w);
    w = next;
  }
}

// Stands for "no worker yet": its empty lists send every fast path to the slow path.
inline constinit Worker unbound_worker{};
TMK_THREAD_LOCAL Worker* current_worker = &unbound_worker;

inline bool stack_left(const Worker& worker) { return stack_is_above(worker.stack_end); }

}  // namespace tmk::detail
