// Calls as tasks: a callable with its arguments, and the shared state that calls it.
#pragma once

#include <functional>
#include <memory>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

#include "exit_actions.hpp"
#include "state.hpp"
#include "state_memory.hpp"
#include "task.hpp"

namespace tmk::detail {

// A callable with its arguments, for one call.
template <class F, class... A>
class Call {
 public:
  template <class G, class... B>
  explicit Call(G&& callable, B&&... arguments)
      : parts_(std::forward<G>(callable), std::forward<B>(arguments)...) {}
  decltype(auto) operator()() {
    return std::apply(
        [](auto&... parts) -> decltype(auto) { return std::invoke(std::move(parts)...); }, parts_);
  }

 private:
  std::tuple<F, A...> parts_;
};

// Operations of a state that can also be called without keeping the outcome.
template <class R>
struct CallOperations : Operations {
  R (*call_and_destroy)(State<R>&);
};

// `Whole` is the most derived type: the state lies in the memory of a `Whole`.
template <class R, class C, class Derived = void>
struct CallState : State<R> {
  using Whole = std::conditional_t<std::is_void_v<Derived>, CallState, Derived>;
  // Whether no program can see that a copy is called in place of the callable, which costs little.
  static constexpr bool kCheapToCopy = std::is_trivially_copy_constructible_v<C> &&
                                       std::is_trivially_destructible_v<C> &&
                                       sizeof(C) <= 4 * sizeof(void*);
  using Exits = ExitScope;  // a Derived may have its own, and its own publish
  template <class... A>
  explicit CallState(std::in_place_t tag, A&&... arguments)
      : CallState(Place{}, tag, std::forward<A>(arguments)...) {}
  template <class... A>
  CallState(Place place, std::in_place_t /*tag*/, A&&... arguments) : State<R>(place) {
    ::new (static_cast<void*>(std::addressof(call))) C(std::forward<A>(arguments)...);
    this->operations = &kOperations;
  }
  ~CallState() {}

  // Calls the callable, stores the outcome and publishes it. The caller has claimed the task.
  static void run(Task& task) {
    auto& self = static_cast<CallState&>(task);
    // The destructor also publishes when the thread is cancelled in the call and unwinds: the
    // outcome is then a broken promise.
    struct Publisher {
      CallState& self;
      bool ended = false, failed = true;
      ~Publisher() {
        if (!ended) self.set_exception(broken_promise());
        std::destroy_at(std::addressof(self.call));
        static_cast<Whole&>(self).publish(failed);
      }
    } publisher{self};
    [[maybe_unused]] const typename Whole::Exits exits;
    publisher.failed = self.set_outcome_of(self.call);
    publisher.ended = true;
  }

  // The caller has claimed the task, and no other thread knows it: the outcome goes straight to the
  // caller.
  static R call_and_destroy(State<R>& state) {
    if constexpr (kCheapToCopy) {
      auto* const whole = static_cast<Whole*>(static_cast<CallState*>(&state));
      if (is_own(*whole)) [[likely]] {
        const C& original = whole->call;
        C copy(original);
        // Before the call: the tasks that it makes use the block while the block is in the cache,
        // and nothing of this task is kept over the call.
        current_worker->blocks.keep(*whole, block_class(sizeof(Whole)));
        const ExitScope exits;
        return static_cast<R>(copy());  // of void: the call may return something all the same
      }
    }
    return call_and_free(state);
  }

  static void destroy(Task& task) noexcept {
    auto& self = static_cast<CallState&>(task);
    // ORDER call-left: relaxed, ordered by last-reference.
    if ((self.state.load(std::memory_order_relaxed) & kReady) == 0)
      std::destroy_at(std::addressof(self.call));
    self.end_outcome();
    free_state(static_cast<Whole*>(&self));
  }

  static constexpr CallOperations<R> kOperations{{&run, &destroy}, &call_and_destroy};
  union {
    C call;
  };

 private:
  [[gnu::noinline]] static R call_and_free(State<R>& state) {
    struct End {
      CallState& self;
      ~End() {
        std::destroy_at(std::addressof(self.call));
        free_state(static_cast<Whole*>(&self));
      }
    } const end{static_cast<CallState&>(state)};
    const ExitScope exits;
    return static_cast<R>(end.self.call());
  }
};

template <class F, class... A>
using CallOf = Call<std::decay_t<F>, std::decay_t<A>...>;
template <class F, class... A>
using ResultOf = std::invoke_result_t<std::decay_t<F>, std::decay_t<A>...>;

}  // namespace tmk::detail
