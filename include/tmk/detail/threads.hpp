// The threads of a pool: how one is started, finds tasks, runs them, and sleeps when there is none.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <memory>
#include <new>

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

// The oldest task of a worker that the watchdog has marked; null if there is none.
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
inline Task* Pool::find(Worker& self, std::uint32_t& start) {
  if (starving_.load() != 0) {
    if (Task* const task = find_starving(self)) return task;
  }
  if (Task* const own = self.pop()) {
    self.popped.increment();
    return own;
  }
  start = start * 1664525 + 1013904223;  // so that not all thieves begin at the same worker
  for (std::uint32_t skip = (start >> 28) + 1, round = 0; round < 2; ++round) {
    for (Worker* w = workers_.load(); w != nullptr; w = w->next) {
      if (round == 0 && skip != 0) {
        --skip;
        continue;
      }
      if (w == &self) continue;
      if (Task* const task = w->steal()) {
        self.stolen.increment();
        // Wake-ups spread from thread to thread: one that sees more than it takes wakes the next.
        if (running() < limit() && w->may_have_pending()) add_thread();
        return task;
      }
    }
  }
  return nullptr;
}

// Runs tasks; returns when it has found none for a while.
inline void Pool::run_until_idle(Worker& self) {
  constexpr int kLooks = 48;
  std::uint32_t start = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(&self) >> 7);
  for (int looks = 0; looks < kLooks; ++looks) {
    // More run than may when a thread has come back from a wait. A starving task goes first.
    if (running() > limit() && starving_.load() == 0 && !stopping_.load()) return;
    if (Task* const task = find(self, start)) {
      task->operations->run(*task);
      looks = 0;
    } else if (running() > target_ && !stopping_.load()) {
      return;  // a thread in place of one that waits has nothing to do here
    } else {
      for (int each = 0; each < 2 * looks; ++each) pause();
    }
  }
}

inline void Pool::thread_main() {
  // A task may end its thread with pthread_exit, so what is to happen afterwards is in destructors.
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
    block_signals(mask_.load());  // those that a thread would block that the pusher had started
    self.active.store(true);
    run_until_idle(self);
    self.active.store(false);
    block_signals(kForeignSignals);  // the program may unblock some, or wait for them, meanwhile
  } while (park());
  self.counted = false;  // by park
}

// Sleeps until there is something to do; false: this thread is to end. activity counts the thread
// before and afterwards, not while it sleeps.
inline bool Pool::park() {
  parked_.fetch_add(1);
  stop_running();
  heavy_fence();
  if (running() < limit() && may_have_pending() && unpark_one()) {
    activity_.fetch_add(1);
    return true;
  }
  if (parked_.load() > 2 * target_ + 8 && unpark_one()) return false;
  for (std::uint32_t tokens = tokens_.load();;) {
    if (stopping_.load()) return false;
    if (tokens == 0) {
      futex_wait_until(tokens_, 0, nullptr);
      tokens = tokens_.load();
    } else if (tokens_.compare_exchange_weak(tokens, tokens - 1)) {
      return true;  // the thread that left the token has counted this one
    }
  }
}

// Takes one off the number of parked threads. That thread is awake, or the caller leaves a token.
inline bool Pool::unpark_one() {
  std::uint32_t parked = parked_.load();
  while (parked > 0 && !parked_.compare_exchange_weak(parked, parked - 1)) {
  }
  return parked > 0;
}

// Lets one more thread run, a parked one or a new one. False: the system gives none.
inline bool Pool::add_thread() {
  activity_.fetch_add(1);
  begun_threads_.fetch_add(1);
  if (unpark_one()) {
    tokens_.fetch_add(1);
    futex_wake(tokens_, 1);
    return true;
  }
  if (start(&Pool::thread_main)) {
    added_.fetch_add(1);
    return true;
  }
  stop_running();
  refused_.store(true);
  return false;
}

// Starts a thread that calls `body`. False: the system gives none.
inline bool Pool::start(void (Pool::*body)()) {
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
