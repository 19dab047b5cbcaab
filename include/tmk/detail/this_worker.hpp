// The worker of the calling thread. A thread gets a worker of the standard pool at its first use of
// tmk.
#pragma once

#include <pthread.h>

#include <new>

#include "pool.hpp"
#include "shared_library.hpp"
#include "thread_key.hpp"
#include "worker.hpp"

namespace tmk::detail {

// Binds a worker of the standard pool. The end of the thread gives it back. bad_alloc.
[[gnu::noinline]] inline Worker& bind_this_thread() {
  keep_module_loaded();
  static const pthread_key_t key = make_thread_key([](void* bound) {
    auto& worker = *static_cast<Worker*>(bound);
    current_worker = &unbound_worker;
    worker.pool->unbind(worker);
  });
  Worker& worker = Pool::standard().bind();
  if (pthread_setspecific(key, &worker) != 0) {
    worker.pool->unbind(worker);
    throw std::bad_alloc();
  }
  return *(current_worker = &worker);
}
inline Worker& this_worker() {
  Worker* const worker = current_worker;
  return worker != &unbound_worker ? *worker : bind_this_thread();
}
// The same for a caller that can do without a worker: null if there is no memory for it.
inline Worker* try_this_worker() noexcept {
  try {
    return &this_worker();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace tmk::detail
