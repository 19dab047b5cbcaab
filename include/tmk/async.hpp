// tmk::async: std::async on a pool of as many threads as there are processors to use.
//
//   launch::async, and the default async | deferred: the call becomes a task. It runs on a thread
//   of
//     the pool or, if somebody waits for it first, in place on that thread.
//   launch::deferred: the call runs in the first wait, as in the standard.
//   launch::thread: the call has a new thread of its own, as the standard's launch::async has;
//   throws
//     std::system_error(resource_unavailable_try_again) if there is none to be had.
#pragma once

#include <thread>
#include <type_traits>
#include <utility>

#include "future.hpp"
#include "promise.hpp"

namespace tmk {

enum class launch : unsigned { async = 1, deferred = 2, thread = 4 };
constexpr launch operator|(launch a, launch b) {
  return static_cast<launch>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr launch operator&(launch a, launch b) {
  return static_cast<launch>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}
constexpr launch operator^(launch a, launch b) {
  return static_cast<launch>(static_cast<unsigned>(a) ^ static_cast<unsigned>(b));
}
constexpr launch operator~(launch a) { return static_cast<launch>(~static_cast<unsigned>(a) & 7u); }
constexpr launch& operator|=(launch& a, launch b) { return a = a | b; }
constexpr launch& operator&=(launch& a, launch b) { return a = a & b; }
constexpr launch& operator^=(launch& a, launch b) { return a = a ^ b; }

namespace detail {

// Made before all other thread_locals of its thread and so destroyed after them: only then is the
// outcome ready, and what was set at the thread's exit.
struct ThreadEnd {
  Task* task = nullptr;
  bool failed = false;
  ~ThreadEnd() {
    fire_exit_actions(nullptr);
    task->publish(failed);
  }
};
inline ThreadEnd& thread_end() {
  thread_local ThreadEnd end;
  return end;
}

// A call on a thread of its own. Who lets go of it last joins the thread.
template <class R, class C>
struct ThreadState : CallState<R, C, ThreadState<R, C>> {
  using Base = CallState<R, C, ThreadState>;
  using Base::Base;
  void start() {
    thread = std::thread([this] {
      thread_end().task = this;
      Base::run(*this);
    });
    this->operations = &kOperations;
  }
  struct Exits {};
  void publish(bool failed) { thread_end().failed = failed; }
  static void destroy(Task& task) noexcept {
    auto& self = static_cast<ThreadState&>(task);
    self.thread.join();
    self.end_outcome();
    self.thread.~thread();
    free_state(&self);
  }
  static constexpr CallOperations<R> kOperations{{nullptr, &destroy}, nullptr};
  std::thread thread;
};

template <class R, class C, class... A>
future<R> start_thread(A&&... parts) {
  using S = ThreadState<R, C>;
  S* const state = make_state<S>(this_worker(), std::in_place, std::forward<A>(parts)...);
  try {
    state->start();
  } catch (...) {
    state->operations->destroy(*state);
    throw;
  }
  return make_future<R>(state);
}

}  // namespace detail

// Calls `callable` with copies of the arguments. bad_alloc if there is no memory for it.
template <class F, class... A>
  requires std::is_invocable_v<std::decay_t<F>, std::decay_t<A>...>
[[nodiscard]] TMK_INLINE future<detail::ResultOf<F, A...>> async(launch policy, F&& callable,
                                                                 A&&... arguments) {
  using R = detail::ResultOf<F, A...>;
  using C = detail::CallOf<F, A...>;
  using S = detail::CallState<R, C>;
  if ((policy & launch::async) != launch{}) [[likely]] {
    detail::Worker& worker = detail::this_worker();
    S* const state = detail::make_state<S>(worker, std::in_place, std::forward<F>(callable),
                                           std::forward<A>(arguments)...);
    try {
      detail::submit(worker, *state, detail::siblings_here());
    } catch (...) {
      S::destroy(*state);
      throw;
    }
    return detail::make_future<R>(state);
  }
  if ((policy & launch::thread) != launch{}) {
    return detail::start_thread<R, C>(std::forward<F>(callable), std::forward<A>(arguments)...);
  }
  return detail::make_future<R>(detail::make_state<S>(detail::this_worker(), std::in_place,
                                                      std::forward<F>(callable),
                                                      std::forward<A>(arguments)...));
}

template <class F, class... A>
  requires(!std::is_same_v<std::decay_t<F>, launch> &&
           std::is_invocable_v<std::decay_t<F>, std::decay_t<A>...>)
[[nodiscard]] TMK_INLINE future<detail::ResultOf<F, A...>> async(F&& callable, A&&... arguments) {
  return async(launch::async | launch::deferred, std::forward<F>(callable),
               std::forward<A>(arguments)...);
}

}  // namespace tmk
