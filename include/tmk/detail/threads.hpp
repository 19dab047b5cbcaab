// The threads of a pool: their start, their search for tasks, the runs of tasks, and their sleep
// when there are none.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <memory>
#include <new>

#include "distances.hpp"
#include "fence.hpp"
#include "futex.hpp"
#include "pool_class.hpp"
#include "processors.hpp"
#include "shared_library.hpp"
#include "signals.hpp"
#include "stack.hpp"
#include "task.hpp"
#include "worker.hpp"

namespace tmk::detail {

// The bit by which a waker wakes this thread alone, or almost: other threads may have the same bit.
inline std::uint32_t bit_of(pid_t thread) {
  return 1u << (static_cast<std::uint32_t>(thread) % 32);
}

// Claims the oldest task of a worker that the watchdog has marked; null if there is none.
inline Task* Pool::find_starving(Worker& self) {
  for (Worker* w = workers_.load(); w != nullptr; w = w->next) {
    if (!w->starving.load() || !w->starving.exchange(false)) continue;
    starving_.fetch_sub(1);
    if (Task* const task = w->claim_oldest(w == &self)) {
      (w == &self ? self.popped : self.stolen).increment();
      if (w == &self) self.taken.increment();
      return task;
    }
  }
  return nullptr;
}
// Calls `visit` with the workers of the list except `self` until it returns true. It begins after
// the first `behind` workers and goes around. If the processors' distances are known, it does so
// with the nearest workers first, then with the next.
template <class F>
bool visit_others(Worker* first, const Worker& self, std::uint32_t behind,
                  const Distances* distances, const F& visit) {
  const int here = distances == nullptr ? -1 : self.processor.load();
  for (unsigned away = 0; away <= (distances == nullptr ? 0 : Distances::kFarthest); ++away) {
    for (std::uint32_t skip = behind, round = 0; round < 2; ++round) {
      for (Worker* w = first; w != nullptr; w = w->next) {
        if (distances != nullptr && distances->between(here, w->processor.load()) != away) continue;
        if (round == 0 && skip != 0) {
          --skip;
          continue;
        }
        if (w != &self && visit(*w)) return true;
      }
    }
  }
  return false;
}
inline Loot Pool::find(Worker& self, std::uint32_t& start) {
  if (starving_.load() != 0) {
    if (Task* const task = find_starving(self)) return {task};
  }
  if (Task* const own = self.pop()) {
    self.popped.increment();
    return {own};
  }
  Loot found;
  start = start * 1664525 + 1013904223;  // so that not all thieves begin at the same worker
  note_processor(self);
  const auto steal = [&](Worker& other) {
    Loot loot = other.steal(true);
    if (loot.left) {
      for (int spins = 0; spins < 64; ++spins) pause();  // in which its maker pushes the next one
      loot = other.steal();
    }
    found.missed |= loot.missed;
    if (loot.task == nullptr) return false;
    self.stolen.increment();
    // Wake-ups spread from thread to thread: a thread that sees more than it takes wakes the next.
    if (running() < limit() && other.may_have_pending()) add_thread(true);
    found = loot;
    return true;
  };
  visit_others(workers_.load(), self, (start >> 28) + 1, distances_.load(), steal);
  return found;
}
// Runs a task that the thread does not join, and notes the run in the deque.
inline void run_noted(Worker& self, Task& task) {
  struct Noted : Run {
    Worker& self;
    explicit Noted(Worker& by, Task& begun)
        : Run{begun, stack_bounds(), stack_pointer(), by.running.load()}, self(by) {
      if (base > stack.high) base = 0;  // on a stack of the program's own
      self.note_run(this);
    }
    ~Noted() { self.note_run(outer); }
  } const noted(self, task);
  task.operations->run(task);
}
inline Helped Pool::help(Worker& self, const Task& awaited) {
  if (!stack_left(self)) return Helped::no;
  bool asked = false;
  for (Worker* w = workers_.load(); w != nullptr; w = w->next) {
    const Help found = w != &self ? w->claim_within(awaited) : Help{};
    asked |= found.asked;
    if (found.task == nullptr) continue;
    self.stolen.increment();
    run_noted(self, *found.task);
    return Helped::yes;
  }
  return asked ? Helped::asked : Helped::no;
}
// Asks the other owners to open the next task that they push. True if an owner had not been asked
// yet.
inline bool Pool::ask(Worker& self) {
  bool told = false;
  for (Worker* w = workers_.load(); w != nullptr; w = w->next) {
    if (w != &self && w->ask()) told = true;
  }
  return told;
}

// Keeps a thread from looking again and again for tasks that are not worth a theft. The owner of
// such tasks would pay for each look, and would run them sooner itself.
class Restraint {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::nanoseconds kWorth{1'000}, kMost{32'000};

  void begin_task(Time now) { begun_ = now; }
  void end_task(Time now) {
    vain_ = now - begun_ < kWorth;
    asked_ = false;
    if (!vain_) hold_ = {};
  }
  // Returns the time without looks after a look that found nothing. `told`: ask() asked an owner
  // that had not been asked yet.
  std::chrono::nanoseconds hold(bool told) {
    if (vain_ || (told && asked_)) hold_ = std::min(2 * hold_ + kWorth, kMost);
    vain_ = false;
    asked_ |= told;
    return hold_;
  }

 private:
  Time begun_;
  std::chrono::nanoseconds hold_{};
  bool vain_ = false, asked_ = false;
};

inline void pause_for(std::chrono::nanoseconds time) {
  if (time == time.zero()) return;
  using Clock = std::chrono::steady_clock;
  for (const auto end = Clock::now() + time; Clock::now() < end;) pause();
}

// Runs tasks; returns when it has found none for a while. A thread of the pool passes the signals
// that it blocks, and looks for longer.
inline void Pool::run_until_idle(Worker& self, std::uint64_t* blocked) {
  using std::chrono::steady_clock;
  constexpr int kLooks = 48, kPatientLooks = 4'000;
  constexpr std::chrono::microseconds kLookFor{1'000}, kBlockAfter{100};
  std::uint32_t start = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(&self) >> 7);
  Restraint restraint;
  steady_clock::time_point since;
  for (int looks = 1;; ++looks) {
    // More threads run than the limit when a thread has come back from a wait. A starving task goes
    // first.
    if (running() > limit() && starving_.load() == 0 && !stopping_.load()) return;
    const Loot loot = find(self, start);
    if (Task* const task = loot.task) {
      if (const std::uint64_t mask = mask_.load(); blocked != nullptr && *blocked != mask)
        block_signals(*blocked = mask);
      restraint.begin_task(steady_clock::now());
      run_noted(self, *task);
      restraint.end_task(steady_clock::now());
      looks = 0;  // and 1 before the next look
      continue;
    }
    // A thread in place of one that waits has nothing to do here.
    if (running() > target_ && !stopping_.load()) return;
    if (!loot.missed) pause_for(restraint.hold(ask(self)));
    for (int each = 0; each < 2 * std::min(looks, 16); ++each) pause();
    if (looks < kLooks) continue;
    if (blocked == nullptr || !has_membarrier || closing_.load() || stopping_.load()) return;
    if (running() > width_) return;  // it would take a processor from another thread
    if (looks == kPatientLooks) return;
    if (looks == kLooks) since = steady_clock::now();
    if (looks % 16 == 0) {
      const auto looked = steady_clock::now() - since;
      if (looked > kLookFor) return;
      // The thread blocks signals as a sleeping thread does. It does so only after a while, because
      // a thread that unblocks signals for a task takes a signal that the kernel is about to give
      // to another thread.
      if (looked > kBlockAfter && *blocked != kForeignSignals)
        block_signals(*blocked = kForeignSignals);
    }
    sched_yield();  // to any other thread on this processor
  }
}

inline void Pool::thread_main() {
  // A task may end its thread with pthread_exit, so destructors do the work that follows.
  struct Member {
    Pool& pool;
    Worker& self;
    ~Member() {
      current_worker = &unbound_worker;
      pool.unbind(self);
    }
  };
  Worker* const bound = try_bind();
  if (bound == nullptr) {  // no memory: as if the system had given no thread
    stop_running();
    refused_.store(true);
    alert();
    return;
  }
  const Member member{*this, *bound};
  const cpu_set_t processors = endless_ ? processors_of(getpid()) : processors_;
  if (CPU_COUNT(&processors) != 0) sched_setaffinity(0, sizeof processors, &processors);
  Worker& self = *bound;
  current_worker = &self;
  self.counted = true;  // by add_thread
  self.pooled = true;
  do {
    std::uint64_t blocked = mask_.load();
    block_signals(blocked);  // as a thread that the pusher had started would
    self.active.store(true);
    run_until_idle(self, &blocked);
    self.active.store(false);
    block_signals(kForeignSignals);  // the program may unblock some, or wait for them, meanwhile
  } while (park(self));
  self.counted = false;  // by park
}

// Sleeps until there is work; false: this thread must end. activity counts the thread before and
// afterwards, not while it sleeps.
[[gnu::noinline, gnu::cold]] inline bool Pool::park(Worker& self) {
  parked_.fetch_add(1);
  stop_running();
  alert();
  heavy_fence();
  if (running() < limit() && may_have_pending() && unpark_one()) {
    activity_.fetch_add(1);
    return true;
  }
  if (parked_.load() > 2 * target_ + 8 && unpark_one()) return false;
  struct Parked {
    Worker& self;
    explicit Parked(Worker& parked) : self(parked) { self.parked.store(true); }
    ~Parked() { self.parked.store(false); }
  } const parked{self};
  const std::uint32_t bit = bit_of(self.thread.load());
  for (std::uint32_t tokens = tokens_.load();;) {
    if (stopping_.load()) return false;
    if (tokens == 0) {
      futex_wait_until(tokens_, 0, nullptr, bit);
      tokens = tokens_.load();
    } else if (tokens_.compare_exchange_weak(tokens, tokens - 1)) {
      return true;  // the thread that left the token has counted this one
    }
  }
}

// Takes one thread off the number of parked threads. That thread is awake, or the caller leaves a
// token.
inline bool Pool::unpark_one() {
  std::uint32_t parked = parked_.load();
  while (parked > 0 && !parked_.compare_exchange_weak(parked, parked - 1)) {
  }
  return parked > 0;
}

// The caller has left a token for any thread. `goes_on`: the caller needs its processor itself.
inline void Pool::wake_parked(bool goes_on) {
  if (goes_on && spreads_ && !keeping_.exchange(true)) {
    long woken = 0;
    for (Worker* w = workers_.load(); w != nullptr; w = w->next) {
      const pid_t thread = w->parked.load() ? w->thread.load() : 0;
      if (thread == 0) continue;
      const KeptAway away(thread);
      woken = futex_wake(tokens_, 1, bit_of(thread));
      break;
    }
    keeping_.store(false);
    if (woken != 0) return;  // else it was awake already
  }
  futex_wake(tokens_, 1);
}
// Lets one more thread run, a parked or a new one. False: the system gives none.
[[gnu::noinline, gnu::cold]] inline bool Pool::add_thread(bool goes_on) {
  activity_.fetch_add(1);
  begun_threads_.fetch_add(1);
  if (unpark_one()) {
    tokens_.fetch_add(1);
    wake_parked(goes_on);
    return true;
  }
  if (start(&Pool::thread_main, goes_on && spreads_)) {
    added_.fetch_add(1);
    return true;
  }
  stop_running();
  refused_.store(true);
  alert();
  return false;
}

// Starts a thread that calls `body`. False: the system gives none. `elsewhere`: the thread begins
// on another processor than the caller's, until it sets its processors itself.
[[gnu::noinline, gnu::cold]] inline bool Pool::start(void (Pool::*body)(), bool elsewhere) {
  keep_module_loaded();  // another module may have made the registry
  struct Start {
    Pool* pool;
    void (Pool::*body)();
  };
  auto* const start = new (std::nothrow) Start{this, body};
  if (start == nullptr) return false;
  threads_.fetch_add(1);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
#if defined(__GLIBC__)
  if (cpu_set_t others = processors_of(0); elsewhere && take_off_this_processor(others)) {
    pthread_attr_setaffinity_np(&attributes, sizeof others, &others);
  }
#else
  static_cast<void>(elsewhere);
#endif
  // No signal reaches a thread of the pool before it runs tasks.
  const std::uint64_t mask = blocked_signals();
  block_signals(kForeignSignals);
  pthread_t thread;
  const auto create = [&](std::size_t stack_bytes) {
    pthread_attr_setstacksize(&attributes, stack_bytes);
    return pthread_create(
        &thread, &attributes,
        [](void* argument) -> void* {
          struct Member {
            Pool& pool;
            ~Member() {
              std::atomic<std::uint32_t>& left = pool.threads_;
              const bool endless = pool.endless_;
              // The pool may be gone as soon as the number is zero, so the word is not read again.
              if (left.fetch_sub(1) == 1 && !endless) futex_wake(left, 1);
            }
          };
          const Start given = *std::unique_ptr<Start>(static_cast<Start*>(argument));
          const Member member{*given.pool};
          (member.pool.*given.body)();
          return nullptr;
        },
        start);
  };
  const bool plain = plain_stacks_.load();
  int error = create(plain ? default_stack() : pool_stack());
  if (error != 0 && !plain && (error = create(default_stack())) == 0) plain_stacks_.store(true);
  block_signals(mask);
  pthread_attr_destroy(&attributes);
  if (error == 0) return true;
  threads_.fetch_sub(1);
  delete start;
  return false;
}

}  // namespace tmk::detail
