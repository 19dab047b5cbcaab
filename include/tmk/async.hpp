// tmk::async: std::async on a pool of as many threads as there are processors to use.
//
// launch::async, and the default async | deferred: the call becomes a task. It runs on a thread of
// the pool or, if a thread waits for it before, in place on that thread.
//
// launch::deferred: the call runs in the first wait, as in the standard.
//
// launch::thread: the call has a new thread of its own, as the standard's launch::async has. async
// throws std::system_error(resource_unavailable_try_again) if the system gives none.
#pragma once

#include <type_traits>
#include <utility>

#include "detail/call.hpp"
#include "detail/compiler.hpp"
#include "detail/spawn.hpp"
#include "detail/state_memory.hpp"
#include "detail/this_worker.hpp"
#include "detail/thread_call.hpp"
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

// Calls `callable` with copies of the arguments. bad_alloc if there is no memory for it.
template <class F, class... A>
  requires std::is_invocable_v<std::decay_t<F>, std::decay_t<A>...>
[[nodiscard]] TMK_INLINE future<detail::ResultOf<F, A...>> async(launch policy, F&& callable,
                                                                 A&&... arguments) {
  using R = detail::ResultOf<F, A...>;
  using C = detail::CallOf<F, A...>;
  using S = detail::CallState<R, C>;
  if ((policy & launch::async) != launch{}) [[likely]] {
    return detail::make_future<R>(detail::spawn<S, detail::Spawning<F>, detail::Spawning<A>...>(
        std::forward<F>(callable), std::forward<A>(arguments)...));
  }
  if ((policy & launch::thread) != launch{}) {
    return detail::make_future<R>(
        detail::start_thread<R, C>(std::forward<F>(callable), std::forward<A>(arguments)...));
  }
  detail::Worker* worker = detail::current_worker;
  return detail::make_future<R>(detail::make_state<S>(
      worker, std::in_place, std::forward<F>(callable), std::forward<A>(arguments)...));
}

template <class F, class... A>
  requires(!std::is_same_v<std::decay_t<F>, launch> &&
           std::is_invocable_v<std::decay_t<F>, std::decay_t<A>...>)
[[nodiscard]] TMK_INLINE future<detail::ResultOf<F, A...>> async(F&& callable, A&&... arguments) {
  return async(launch::async | launch::deferred, std::forward<F>(callable),
               std::forward<A>(arguments)...);
}

}  // namespace tmk
