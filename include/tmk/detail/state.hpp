// Shared states: a task with the outcome of its call.
#pragma once

#include <cxxabi.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <future>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "task.hpp"

namespace tmk::detail {

// A base of the classes that have a result: it is an error to declare an object whose result
// nothing could keep. The type of a result may be incomplete until the declared object ends.
template <class R>
struct ResultType {
  static_assert(!std::is_array_v<R>, "the result type must not be an array");
  static_assert(!std::is_function_v<R>, "the result type must not be a function");
  ~ResultType() {
    static_assert(std::is_void_v<R> || std::is_destructible_v<R>,
                  "the result type must be destructible");
  }
};

// The stored form of an outcome of type R: a pointer for a reference, Nothing for void.
struct Nothing {};
template <class R>
using Stored = std::conditional_t<
    std::is_void_v<R>, Nothing,
    std::conditional_t<std::is_reference_v<R>, std::add_pointer_t<R>, std::remove_cv_t<R>>>;

// A shared state for outcomes of type R. Nothing is alive in the union until the task is ready.
template <class R>
struct State : Task {
  State() {}
  explicit State(Place place) : Task(place) {}
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
  // Stores the result or the exception of the call; returns true for an exception. A thread that is
  // cancelled in the call unwinds through this function and stores nothing.
  template <class F>
  bool set_outcome_of(F& callable) {
    try {
      if constexpr (std::is_void_v<R>) {
        callable();  // which may return something all the same
        set_value();
      } else {
        set_value(callable());
      }
      return false;
#if defined(__GLIBCXX__)
    } catch (const abi::__forced_unwind&) {
      throw;
#endif
    } catch (...) {
      set_exception(std::current_exception());
      return true;
    }
  }
  // The functions from here on need a state that is ready.
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
    const void* scope;  // of a pending task of a task_scope
  };
};

// The error of a promise that is not kept; bad_alloc if there is no memory for that error.
inline std::exception_ptr broken_promise() noexcept {
  try {
    return std::make_exception_ptr(std::future_error(std::future_errc::broken_promise));
  } catch (const std::bad_alloc&) {
    return std::current_exception();
  }
}

}  // namespace tmk::detail
