// A pool: threads for pending tasks. It has workers, one for each thread that uses it, and threads
// of its own. Its threads run the tasks that others push, block in the tasks they run, and sleep
// when there are none. `activity` counts the threads that run. While all are busy and the watchdog
// ticks, a push does not look at it; else the worker's `split` makes each push slow. A thread that
// blocks in a wait is not counted, so another thread takes its place. A header that uses a pool
// includes pool.hpp, which has the functions too.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <mutex>

#include "assertion.hpp"
#include "distances.hpp"
#include "fence.hpp"
#include "futex.hpp"
#include "signals.hpp"
#include "task.hpp"
#include "worker.hpp"

namespace tmk::detail {

inline constexpr std::uint32_t kArmed = 1u << 24;  // in `activity`: the watchdog ticks
inline constexpr std::uint32_t kRunning = kArmed - 1;

// Whether a waiter has run a task, or has asked for a task and should look again soon.
enum class Helped { no, asked, yes };

class Pool {
 public:
  // The constructor of the first pool may throw bad_alloc.
  explicit Pool(std::uint32_t threads, bool endless = false);
  Pool(const Pool&) = delete;
  ~Pool();
  // Runs the pending tasks, waits for the threads, and deletes the pool. In a task of the pool,
  // which would wait for itself (exit() ends static pools there), the pool stays.
  static void close(Pool* pool);

  // The pool behind tmk::async on a thread of no other pool. It is never destroyed, because futures
  // and threads may outlive every static object.
  static Pool& standard();

  Worker& bind();  // bad_alloc
  void unbind(Worker& worker);

  // After a slow push, if threads are wanted: wake a thread if one may run, arm the watchdog.
  void wake(Worker& self) {
    note_processor(self);
    // Without a watchdog no other thread tries again. Only some pushes try, because a refusal by
    // the system takes time.
    if (refused_.load() && !watched_.load()) {
      if (refusals_.fetch_add(1) % 128 != 0) return;
      refused_.store(false);
    }
    if (running() < limit() && !refused_.load()) {
      note_signals();
      add_thread(true);
    }
    if ((activity_.fetch_or(kArmed) & kArmed) == 0) start_watchdog();
  }
  // The calling thread begins to run, or goes on after a wait.
  void enter(Worker& self) {
    note_processor(self);
    self.active.store(true);
    activity_.fetch_add(1);
  }
  // The calling thread blocks or ends. Pending tasks get a thread in its place.
  [[gnu::noinline]] void leave(Worker& self) {
    self.active.store(false);
    const std::uint32_t now = stop_running();
    if (now >= limit()) return;
    if (!may_have_pending()) {  // else the fence, which may take 20 us, would add nothing
      alert();
      heavy_fence();
      if (!may_have_pending()) return;
    }
    add_thread();
  }
  // Tasks that the pool's threads run from now on have the signal mask of the calling thread.
  void note_signals() {
    if (const std::uint64_t mask = blocked_signals(); mask != mask_.load()) mask_.store(mask);
  }
  // Notes the processor of the calling thread, for thieves that take from near threads first.
  void note_processor(Worker& self) const {
    if (distances_.load() != nullptr) self.processor.store(sched_getcpu());
  }
  // The calling thread waits for a task. If another task has to end before that, the thread runs
  // it.
  Helped help(Worker& self, const Task& awaited);
  // Whether there may be a task that another thread could run: a hint.
  bool has_work() { return may_have_pending(); }
  // For a caller without enough stack: whether another thread runs, or can be added, to run the
  // task that the caller needs.
  bool has_help() { return running() > 1 || add_thread(); }

  std::uint32_t size() const { return target_; }
  struct Totals {
    std::uint64_t tasks = 0, steals = 0, inline_claims = 0, blocked_waits = 0, threads_added = 0;
  };
  Totals totals();

 private:
  // All pools, for fork, and the workers that no pool has. The registry is never destroyed.
  struct Registry {
    std::mutex mutex;
    Pool* pools = nullptr;
    Worker* spare = nullptr;
    pid_t forking = 0;  // the thread that holds the mutex over a fork
  };
  static Registry& registry() {
    static Registry* const all = make_registry();
    return *all;
  }
  static Registry* make_registry();
  static void prepare_fork();
  static void finish_fork();
  static void begin_child();
  void begin_anew(pid_t parent_thread);

  Worker* try_bind() noexcept;
  std::uint32_t running() const { return activity_.load() & kRunning; }
  std::uint32_t limit() const { return target_ + extra_.load(); }
  // The calling thread stops running. Returns the number of threads that still run.
  std::uint32_t stop_running() {
    const std::uint32_t before = activity_.fetch_sub(1) & kRunning;
    TMK_ASSERT(before != 0);
    if (closing_.load()) futex_wake(activity_, INT_MAX);
    return before - 1;
  }

  // After `activity_` has fallen: each owner looks at it when it next pushes. If the caller sleeps
  // then, a heavy fence and a look for tasks have to follow.
  void alert();
  bool add_thread(bool goes_on = false);
  void wake_parked(bool goes_on);
  bool start(void (Pool::*body)(), bool elsewhere = false);
  void thread_main();
  void run_until_idle(Worker& self, std::uint64_t* blocked = nullptr);
  Loot find(Worker& self, std::uint32_t& start);
  bool ask(Worker& self);
  Task* find_starving(Worker& self);
  bool unpark_one();
  bool park(Worker& self);
  void start_watchdog();
  void watchdog_main();
  void measure_distances() noexcept;
  bool keeps_pages() const;  // a hint
  void give_pages_back();
  bool may_have_pending();  // a hint, as Deque::may_have_pending
  bool has_pending();
  std::uint32_t count_places();
  std::uint64_t claims();
  bool have_joined();
  std::uint32_t count_waiting(std::chrono::nanoseconds since, bool stuck);
  std::uint32_t mark_starving();

  const std::uint32_t target_;
  const bool endless_;
  const bool spreads_;          // threads that are woken begin on another processor
  const cpu_set_t processors_;  // of the maker; endless threads use the main thread's
  const std::uint32_t width_;   // processors that the pool can use at once
  alignas(128) std::atomic<std::uint32_t> activity_{0};
  alignas(128) std::atomic<std::uint32_t> tokens_{0};  // each lets one parked thread go on
  std::atomic<std::uint32_t> parked_{0};
  std::atomic<std::uint32_t> extra_{0};    // threads beyond target_ that the watchdog allows
  std::atomic<std::uint32_t> alarm_{0};    // wakes the watchdog
  std::atomic<std::uint32_t> threads_{0};  // of this pool's own, the watchdog included
  std::atomic<std::uint64_t> added_{0};
  std::atomic<std::uint64_t> begun_threads_{0};  // by add_thread, parked ones included
  std::atomic<bool> refused_{false};             // the system gave no thread
  std::atomic<std::uint32_t> refusals_{0};       // pushes since even the watchdog got no thread
  std::atomic<bool> watched_{false};             // the watchdog exists
  std::atomic<std::uint32_t> starving_{0};       // workers that are marked so
  std::atomic<std::uint64_t> mask_{
      blocked_signals()};                  // of the last thread that gave a pool thread a task
  std::atomic<bool> keeping_{false};       // a thread of the pool is being kept away
  std::atomic<bool> plain_stacks_{false};  // the system has no room for large ones
  std::atomic<bool> closing_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<Worker*> workers_{nullptr};
  std::atomic<const Distances*> distances_{
      nullptr};           // where some processors are nearer than others
  Pool* next_ = nullptr;  // in the registry
};

[[gnu::noinline, gnu::cold]] inline void Pool::alert() {
  for (Worker* w = workers_.load(); w != nullptr; w = w->next) w->alert();
}
inline bool Pool::may_have_pending() {
  for (Worker* w = workers_.load(); w != nullptr; w = w->next) {
    if (w->may_have_pending()) return true;
  }
  return false;
}
inline bool Pool::has_pending() {
  for (Worker* w = workers_.load(); w != nullptr; w = w->next) {
    if (w->has_pending()) return true;
  }
  return false;
}
inline Pool::Totals Pool::totals() {
  Totals sum;
  for (Worker* w = workers_.load(); w != nullptr; w = w->next) {
    const std::uint64_t claimed = w->taken.read() + w->revoked.read();
    sum.tasks += claimed + w->stolen.read() + w->count_pending();
    sum.steals += w->stolen.read();
    sum.inline_claims += claimed - w->popped.read();
    sum.blocked_waits += w->blocked.read();
  }
  sum.threads_added = added_.load();
  return sum;
}

}  // namespace tmk::detail
