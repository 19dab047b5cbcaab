// The handling of fork: the parts of the pools that the child keeps.
#pragma once

#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>

#include "fence.hpp"
#include "pool_class.hpp"
#include "surplus.hpp"
#include "worker.hpp"

namespace tmk::detail {

// A forked child has one thread. Other threads of the parent may have been about to change their
// workers, so the child does not touch those workers. The forking thread holds the locks of its own
// workers during the fork, and the child keeps only these workers. The parent runs the tasks that
// were pending; the child runs such a task only if it waits for that task.
inline Pool::Registry* Pool::make_registry() {
  if (pthread_atfork(&prepare_fork, &finish_fork, &begin_child) != 0) throw std::bad_alloc();
  return new Registry;
}
inline void Pool::prepare_fork() {
  registry().mutex.lock();
  registry().forking = gettid();
  for (Pool* p = registry().pools; p != nullptr; p = p->next_) {
    each_worker_of(p->workers_.load(), gettid(), [](Worker& own) { own.lock.lock(); });
  }
}
inline void Pool::finish_fork() {
  for (Pool* p = registry().pools; p != nullptr; p = p->next_) {
    each_worker_of(p->workers_.load(), gettid(), [](Worker& own) { own.lock.unlock(); });
  }
  registry().mutex.unlock();
}
inline void Pool::begin_child() {
  register_membarrier();  // of the process; if refused, heavy_fence() does without
  for (Pool* p = registry().pools; p != nullptr; p = p->next_) p->begin_anew(registry().forking);
  registry().mutex.unlock();
}
inline void Pool::begin_anew(pid_t parent_thread) {
  std::uint32_t running = 0, pooled = 0;
  Worker* kept = nullptr;
  each_worker_of(workers_.load(), parent_thread, [&](Worker& own) {
    own.next = std::exchange(kept, &own);
    own.thread.store(gettid());
    own.blocks.forget_returned();
    if (Surplus* const surplus = own.surplus.load()) surplus->forget();
    own.exposing = false;  // a thief may have had a fence under way
    own.starving.store(false);
    own.leave_pending_behind();
    own.split.store(kAlways);  // an alert: activity falls
    if (own.counted) ++running;
    if (own.pooled) ++pooled;
    own.lock.unlock();
  });
  workers_.store(kept);
  activity_.store(running);
  for (auto* word : {&tokens_, &parked_, &extra_, &alarm_, &starving_}) word->store(0);
  threads_.store(pooled);
  refused_.store(false);
  watched_.store(false);
  keeping_.store(false);
}

}  // namespace tmk::detail
