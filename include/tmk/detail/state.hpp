// Shared states: where an outcome is kept, what computes it, and where the memory comes from.
#pragma once

#include <cxxabi.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

#include "pool.hpp"

namespace tmk::detail {

// A base of what has a result: declaring one whose result nothing could keep is an error. A result
// need not be complete before the declared object ends.
template <class R>
struct ResultType {
  static_assert(!std::is_array_v<R>, "the result type must not be an array");
  static_assert(!std::is_function_v<R>, "the result type must not be a function");
  ~ResultType() {
    static_assert(std::is_void_v<R> || std::is_destructible_v<R>,
                  "the result type must be destructible");
  }
};

// How an outcome of type R is kept: a reference as a pointer, void as nothing.
struct Nothing {};
template <class R>
using Stored = std::conditional_t<
    std::is_void_v<R>, Nothing,
    std::conditional_t<std::is_reference_v<R>, std::add_pointer_t<R>, std::remove_cv_t<R>>>;

// A shared state for outcomes of type R. Nothing is alive in the union until the task is ready.
template <class R>
struct State : Task {
  State() {}
  ~State() {}
  State(const State&) = delete;

  template <class... V>
  void set_value(V&&... value) {
    if constexpr (std::is_reference_v<R>) {
      ::new (static_cast<void*>(std::addressof(stored))) Stored<R>(std::addressof(value)...);
    } else {
      ::new (static_cast<void*>(std::addressof(stored))) Stored<R>(std::forward<V>(value)...);
    }
  }
  void set_exception(std::exception_ptr thrown) noexcept {
    ::new (static_cast<void*>(&error)) std::exception_ptr(std::move(thrown));
  }
  // The rest needs a state that is ready.
  bool failed() const {
    // ORDER failed: relaxed, ordered by see-ready.
    return (state.load(std::memory_order_relaxed) & kFailed) != 0;
  }
  void rethrow_failure() const {
    if (failed()) std::rethrow_exception(error);
  }
  R move_out() {
    rethrow_failure();
    if constexpr (std::is_reference_v<R>) {
      return *stored;
    } else if constexpr (!std::is_void_v<R>) {
      return std::move(stored);
    }
  }
  void end_outcome() noexcept {
    const std::uint32_t bits =
        state.load(std::memory_order_relaxed);  // ORDER bits: relaxed, ordered by last-reference.
    if ((bits & kReady) == 0) return;
    if ((bits & kFailed) != 0) {
      error.~exception_ptr();
    } else {
      std::destroy_at(std::addressof(stored));
    }
  }

  union {
    Stored<R> stored;
    std::exception_ptr error;
  };
};

// bad_alloc itself, if there is no memory for the error.
inline std::exception_ptr broken_promise() noexcept {
  try {
    return std::make_exception_ptr(std::future_error(std::future_errc::broken_promise));
  } catch (const std::bad_alloc&) {
    return std::current_exception();
  }
}

// ---- what is to happen when the running task ends: promises of set_value_at_thread_exit ----

struct ExitAction {
  Task* state;
  bool failed;
  ExitAction* next;
};
TMK_THREAD_LOCAL ExitAction* exit_actions = nullptr;

// Publishes what was registered since `before`.
inline void fire_exit_actions(ExitAction* before) noexcept {
  while (exit_actions != before) {
    const std::unique_ptr<ExitAction> action(exit_actions);
    exit_actions = action->next;
    action->state->publish(action->failed);
    action->state->release();
  }
}
// Should the running task be none of ours, the thread's own end is what fires them: after its
// thread_locals are gone, which is when glibc ends the values of a key.
inline void arm_thread_exit() {
  keep_module_loaded();
  static const pthread_key_t key = [] {
    pthread_key_t made;
    const auto fire = [](void*) { fire_exit_actions(nullptr); };
    if (pthread_key_create(&made, fire) != 0) throw std::bad_alloc();
    return made;
  }();
  pthread_setspecific(key, &key);
}
struct ExitScope {
  ExitAction* const before = exit_actions;
  ~ExitScope() {
    if (exit_actions != before) [[unlikely]]
      fire_exit_actions(before);
  }
};

// ---- memory ----

// Whether a state lies in a worker's block; else it comes from the heap.
template <class S>
inline constexpr bool fits_block = sizeof(S) <= kBlockBytes * kClasses && alignof(S) <= kBlockBytes;

template <class S>
inline constexpr std::align_val_t heap_alignment{std::max(alignof(S), kBlockBytes)};

template <class S>
void* allocate_state(Worker& worker) {
  if constexpr (fits_block<S>) {
    return worker.allocate(size_class(sizeof(S)));
  } else {
    return ::operator new(sizeof(S), heap_alignment<S>);
  }
}
// What was in the state has ended; its head lives on as a free block.
template <class S>
void free_state(S* state) noexcept {
  if constexpr (fits_block<S>) {
    constexpr std::size_t block_class = size_class(sizeof(S));
    Worker& home = home_of(*state);
    if (&home == current_worker) {
      home.keep(*state, block_class);
    } else {
      home.give_back(*state, block_class);
    }
  } else {
    ::operator delete(state, sizeof(S), heap_alignment<S>);
  }
}
// Of the same size, to give memory back in which no state came to be.
template <class S>
struct alignas(S) Blank : Task {
  std::byte rest[sizeof(S) - sizeof(Task)];
};
template <class S, class... A>
S* make_state(Worker& worker, A&&... arguments) {
  struct Memory {
    void* memory;
    ~Memory() {
      if (memory != nullptr) free_state(::new (memory) Blank<S>);
    }
  } owned{allocate_state<S>(worker)};
  S* const made = ::new (owned.memory) S(std::forward<A>(arguments)...);
  owned.memory = nullptr;
  return made;
}

// ---- calls ----

// A callable with its arguments, to be called once.
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

// `Whole` is the most derived type, whose memory it is.
template <class R, class C, class Derived = void>
struct CallState : State<R> {
  using Whole = std::conditional_t<std::is_void_v<Derived>, CallState, Derived>;
  using Exits = ExitScope;  // a Derived may have its own, and its own publish
  template <class... A>
  explicit CallState(std::in_place_t /*tag*/, A&&... arguments) {
    ::new (static_cast<void*>(&call)) C(std::forward<A>(arguments)...);
    this->operations = &kOperations;
  }
  ~CallState() {}

  // Calls, leaves the outcome, publishes it. Whoever runs it has claimed it.
  static void run(Task& task) {
    auto& self = static_cast<CallState&>(task);
    // Also when the thread is cancelled in the middle and unwinds: then no promise is kept.
    struct Publisher {
      CallState& self;
      bool ended = false, failed = true;
      ~Publisher() {
        if (!ended) self.set_exception(broken_promise());
        std::destroy_at(&self.call);
        static_cast<Whole&>(self).publish(failed);
      }
    } publisher{self};
    [[maybe_unused]] const typename Whole::Exits exits;
    try {
      if constexpr (std::is_void_v<R>) {
        self.call();
        self.set_value();
      } else {
        self.set_value(self.call());
      }
      publisher.failed = false;
#if defined(__GLIBCXX__)
    } catch (const abi::__forced_unwind&) {
      throw;
#endif
    } catch (...) {
      self.set_exception(std::current_exception());
    }
    publisher.ended = true;
  }

  // For the only one who knows the task and has claimed it: the outcome goes straight to the
  // caller.
  static R call_and_destroy(State<R>& state) {
    struct End {
      CallState& self;
      ~End() {
        std::destroy_at(&self.call);
        free_state(static_cast<Whole*>(&self));
      }
    } const end{static_cast<CallState&>(state)};
    const ExitScope exits;
    if constexpr (std::is_void_v<R>) {
      end.self.call();  // which may return something all the same
    } else {
      return end.self.call();
    }
  }

  static void destroy(Task& task) noexcept {
    auto& self = static_cast<CallState&>(task);
    // ORDER call-left: relaxed, ordered by last-reference.
    if ((self.state.load(std::memory_order_relaxed) & kReady) == 0) std::destroy_at(&self.call);
    self.end_outcome();
    free_state(static_cast<Whole*>(&self));
  }

  static constexpr CallOperations<R> kOperations{{&run, &destroy}, &call_and_destroy};
  union {
    C call;
  };
};

template <class F, class... A>
using CallOf = Call<std::decay_t<F>, std::decay_t<A>...>;
template <class F, class... A>
using ResultOf = std::invoke_result_t<std::decay_t<F>, std::decay_t<A>...>;

}  // namespace tmk::detail
