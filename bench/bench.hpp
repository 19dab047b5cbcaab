// The interface for programs: async, fork_join, scope, parallel_for, mutex, lock. The build chooses
// the backend that implements them (BENCH_BACKEND), so a program reads like std::async code and
// never names a scheduler.
//
// Preconditions, the weakest that every backend can keep:
//  * async, fork_join, scope and parallel_for are called only below Instance::run;
//  * get() is called at most once on a handle, by the task that made it (OpenMP joins children
//    only); the handle is destroyed by that task too, and its destructor waits if get() was not
//    reached, so objects that the callable refers to live until then;
//  * no mutex is held across get(), wait() or fork_join();
//  * a scope is waited for in the task that made it; its destructor waits too.
// An exception that leaves a callable comes out of get(), wait(), fork_join() or parallel_for(),
// after all branches have ended (the serial backend may throw it at once, like a plain call).
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include BENCH_BACKEND  // "backends/<name>.hpp"; it defines bench::Backend.
#include "opaque.hpp"
#include "registry.hpp"

namespace bench {

template <class B>
concept is_backend =
    requires(B& started, typename B::scope& scope, typename B::mutex& mutex, int (*function)(int),
             void (*procedure)(), void (*body)(std::size_t, std::size_t)) {
      { B::name } -> std::convertible_to<std::string_view>;
      {
        B::version()
      } -> std::same_as<std::string>;  // of the library that really runs, not of its header
      { B::variants.begin()->name } -> std::convertible_to<std::string_view>;
      { B::parallel } -> std::convertible_to<bool>;
      requires std::constructible_from<B, unsigned, std::string_view>;  // threads, variant
      started.run(procedure);  // the root task; returns or throws when it is done
      { B::async(function, 1).get() } -> std::same_as<int>;
      requires std::movable<decltype(B::async(function, 1))>;
      B::fork_join(procedure, procedure);
      B::parallel_for(std::size_t{1}, body);
      scope.spawn(procedure);
      scope.wait();
      mutex.lock();
      mutex.unlock();
      { mutex.try_lock() } -> std::same_as<bool>;
      B::lock(mutex, mutex);  // all or none, without deadlock
    };
static_assert(is_backend<Backend>);

// Starts callable(args...), all decayed as std::async does, and returns a movable handle with
// get().
template <class F, class... A>
[[nodiscard]] auto async(F&& callable, A&&... args) {
  return Backend::async(std::forward<F>(callable), std::forward<A>(args)...);
}

template <class F, class... A>
using handle = decltype(Backend::async(std::declval<F>(), std::declval<A>()...));

// Runs all branches, possibly at the same time, and returns when the last has ended.
template <class... F>
void fork_join(F&&... branches) {
  Backend::fork_join(std::forward<F>(branches)...);
}

// Any number of branches: spawn(f) ..., wait().
using scope = Backend::scope;

// body(first, last) for ranges that together are [0, items), in no order and possibly at the same
// time: the loop of the backend's library if it has one. The library chooses the division of the
// items.
template <class F>
void parallel_for(std::size_t items, const F& body) {
  if (items != 0) Backend::parallel_for(items, body);
}

using mutex = Backend::mutex;

template <class... M>
void lock(M&... mutexes) {
  Backend::lock(mutexes...);
}

namespace detail {

template <class B>
class ErasedRuntime final : public Runtime {
 public:
  ErasedRuntime(unsigned threads, std::string_view variant) : backend_(threads, variant) {}
  void run(void (*task)(void*), void* context) override {
    backend_.run([=] { task(context); });
  }

 private:
  B backend_;
};

template <class B>
const BackendInfo& info() {
  static const BackendInfo result{
      .name = B::name,
      .version = B::version(),
      .variants = {B::variants.begin(), B::variants.end()},
      .parallel = B::parallel,
      .start = [](unsigned threads, std::string_view variant) -> std::unique_ptr<Runtime> {
        return std::make_unique<ErasedRuntime<B>>(threads, variant);
      },
      .tasks_counted =
          [] {
            if constexpr (requires { B::tasks_counted(); })
              return &B::tasks_counted;
            else
              return static_cast<std::uint64_t (*)()>(nullptr);
          }(),
  };
  return result;
}

}  // namespace detail
}  // namespace bench

// Registers the one program of this executable: BENCH_PROGRAM(.name = "fib", ...).
#define BENCH_PROGRAM(...)                           \
  const bench::Program& bench::program() {           \
    static const bench::Program result{__VA_ARGS__}; \
    return result;                                   \
  }                                                  \
  const bench::BackendInfo& bench::backend() { return bench::detail::info<bench::Backend>(); }
