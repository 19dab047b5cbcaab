// tmk::pool, a pool with its own number of threads, and the counts of the runtime.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "detail/pool.hpp"
#include "detail/processors.hpp"
#include "detail/shared_library.hpp"
#include "detail/this_worker.hpp"
#include "detail/worker.hpp"

namespace tmk {

// Counts since the start of the program or of the pool. They are a snapshot if threads run.
struct statistics {
  std::uint64_t tasks = 0;          // made pending
  std::uint64_t steals = 0;         // run by another thread than the one that made them
  std::uint64_t inline_claims = 0;  // run in place by a thread that waited
  std::uint64_t blocked_waits = 0;  // waits for a task that ran elsewhere
  std::uint64_t threads_added = 0;  // threads that were started
};

namespace detail {
inline statistics statistics_of(Pool& pool) {
  const Pool::Totals sum = pool.totals();
  return {.tasks = sum.tasks,
          .steals = sum.steals,
          .inline_claims = sum.inline_claims,
          .blocked_waits = sum.blocked_waits,
          .threads_added = sum.threads_added};
}
}  // namespace detail

// The counts of the pool that the calling thread is in.
inline statistics stats() {
  detail::Worker& worker = detail::this_worker();
  return detail::statistics_of(*worker.pool);
}

// A set of threads for the tasks that are started inside run(). The caller of run() is one of them,
// so a pool of one has no other thread that runs tasks, unless tasks block.
class pool {
 public:
  // TMK_NUM_THREADS sets the number of threads; else it is the number of processors that the
  // process may use.
  pool() : pool(detail::usable_processors()) {}
  explicit pool(unsigned threads)
      : pool_((detail::keep_module_loaded(), new detail::Pool(threads))) {}
  pool(const pool&) = delete;
  pool& operator=(const pool&) = delete;
  // Runs the tasks that are still pending and waits for the pool's threads. Futures may outlive the
  // pool. Within one of its own tasks the destructor returns at once, and the threads stay.
  ~pool() { detail::Pool::close(pool_); }

  // Calls callable() on this thread, as a part of the pool: the tasks that it starts with
  // tmk::async go to the pool.
  template <class F>
  decltype(auto) run(F&& callable) {
    // A task of the pool is already a part of it.
    if (detail::current_worker->pool == pool_) return std::invoke(std::forward<F>(callable));
    struct Visit {
      detail::Pool& host;
      detail::Worker& mine = host.bind();
      detail::Worker* const before = std::exchange(detail::current_worker, &mine);
      ~Visit() {
        detail::current_worker = before;
        host.unbind(mine);
      }
    } const visit{*pool_};
    return std::invoke(std::forward<F>(callable));
  }

  unsigned size() const { return pool_->size(); }
  statistics stats() { return detail::statistics_of(*pool_); }

 private:
  detail::Pool* const pool_;
};

}  // namespace tmk
