// needs: TBB : TBB::tbb
// oneTBB; long because versions differ in how a handle waits for its task. fork_join is
// parallel_invoke, a scope is a task_group. No exception enters the library, because it may be
// built for another C++ runtime than ours, and an exception that crossed its wait would end the
// process. So nothing is cancelled, and no group needs a cancellation context of its own, which is
// half of its price.
#pragma once

#define TBB_PREVIEW_TASK_GROUP_EXTENSIONS 1  // waiting for one task of a group
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/mutex.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/parallel_invoke.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <oneapi/tbb/version.h>

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "outcome.hpp"
#include "registry.hpp"

namespace bench {

struct Backend {
  static constexpr std::string_view name = "tbb";
  static constexpr bool parallel = true;
  static constexpr std::array variants{Variant{.name = "futures"}};
  static std::string version() { return std::string("oneTBB ") + TBB_runtime_version(); }

  Backend(unsigned threads, std::string_view /*variant*/)
      : threads_(tbb::global_control::max_allowed_parallelism, threads),
        stacks_(tbb::global_control::thread_stack_size, stack_bytes),
        arena_(static_cast<int>(threads)) {
    constexpr auto limit = tbb::global_control::max_allowed_parallelism;
    if (tbb::global_control::active_value(limit) < threads) {
      throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again),
                              "oneTBB gives fewer threads");
    }
  }

  void run(auto&& task) {
    FirstError error;
    arena_.execute([&] {
      error.guard(task);
      end_handles();
    });
    error.rethrow();
  }

  template <class F, class... A>
  static auto async(F&& callable, A&&... args) {
    auto task = std::make_unique<Call<Joined, F, A...>>(std::forward<F>(callable),
                                                        std::forward<A>(args)...);
    task->start([call = task.get()] { (*call)(); });
    return Handle<Joined<result_of<F, A...>>>{std::move(task)};
  }

  template <class... F>
  static void fork_join(F&&... branches) {
    FirstError error;
    // The library asks for two at least.
    if constexpr (sizeof...(branches) == 1)
      (error.guard(branches), ...);
    else
      tbb::parallel_invoke([&] { error.guard(branches); }..., context());
    error.rethrow();
  }

  template <class F>
  static void parallel_for(std::size_t items, const F& body) {
    FirstError error;
    tbb::parallel_for(
        tbb::blocked_range<std::size_t>(0, items),
        [&](const tbb::blocked_range<std::size_t>& range) {
          auto part = [&] { body(range.begin(), range.end()); };
          error.guard(part);
        },
        tbb::auto_partitioner(), context());
    error.rethrow();
  }

  class scope {
   public:
    scope() = default;
    scope(const scope&) = delete;
    ~scope() { group_.wait(); }
    template <class F>
    void spawn(F&& branch) {
      group_.run(Branch<std::decay_t<F>>{error_, std::forward<F>(branch)});
    }
    void wait() {
      group_.wait();
      error_.rethrow();
    }

   private:
    template <class F>
    struct Branch {
      FirstError& error;
      mutable F call;  // the library calls a constant copy
      void operator()() const { error.guard(call); }
    };
    FirstError error_;
    tbb::task_group group_{context()};
  };

  // Waits a little, then sleeps: right for a holder that may lose its processor, unlike spin_mutex.
  using mutex = tbb::mutex;

  template <class... M>
  static void lock(M&... mutexes) {
    std::lock(mutexes...);
  }

 private:
  // Each thread has a context because the end of a wait writes to it: a shared context would bounce
  // between the processors.
  static tbb::task_group_context& context() {
    static thread_local tbb::task_group_context own(tbb::task_group_context::isolated);
    return own;
  }

#if TBB_INTERFACE_VERSION >= 12200
  // All tasks of all handles are in one group. A group for each handle would cost its thread an
  // entry in a table that these versions search whenever there are a thousand: uts took minutes
  // instead of seconds.
  static tbb::task_group& handles() {
    static tbb::task_group_context shared(tbb::task_group_context::isolated);
    static tbb::task_group all(shared);
    return all;
  }
  static void end_handles() { handles().wait(); }  // the little work of a task after its join

  template <class Result>
  struct Joined : Task<Result> {
    void start(auto call) {
      tbb::task_handle task = handles().defer(call);
      ended = task;
      handles().run(std::move(task));
    }
    void join() { handles().wait_for_task(ended); }
    tbb::task_completion_handle ended;
  };
#else  // older versions have neither that table nor a way to wait for one task
  static void end_handles() {}

  template <class Result>
  struct Joined : Task<Result> {
    ~Joined() noexcept override = default;  // a group's may throw, for a task that was not joined
    void start(auto call) { group.run(call); }
    void join() { group.wait(); }
    tbb::task_group group{context()};
  };
#endif

  tbb::global_control threads_;
  tbb::global_control stacks_;
  tbb::task_arena arena_;
};

}  // namespace bench
