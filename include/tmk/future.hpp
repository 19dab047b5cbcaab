// tmk::future and shared_future: the standard's, over one block per task.
//
// get() and wait() of a task that has not started claim it and run it in place; they block only on
// one that runs. The errors, the exceptions' passage and the blocking destructor of the last future
// of an async are the standard's ([futures]); an invalid future throws no_state wherever the
// standard allows it. docs/runtime.md lists where tmk differs, and detail/scheduler.md argues the
// memory orders.
#pragma once

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <ratio>
#include <type_traits>
#include <utility>

#include "detail/call.hpp"
#include "detail/futex.hpp"
#include "detail/state.hpp"
#include "detail/task.hpp"
#include "detail/wait.hpp"
#include "detail/worker.hpp"

namespace tmk {

using std::future_category;
using std::future_errc;
using std::future_error;
using std::future_status;
using std::make_error_code;
using std::make_error_condition;

// The tag goes into the names of functions that return a tmk::future. Parameters alone would not
// tell these names from those of a source that uses std::future instead, and such sources must not
// link.
template <class R>
class [[gnu::abi_tag("tmk")]] future;
template <class R>
class [[gnu::abi_tag("tmk")]] shared_future;

namespace detail {

template <class R>
future<R> make_future(State<R>* state) noexcept;
template <class R>
class Await;  // see await.hpp

// The test of [time.traits.is.clock], because libc++ 19 has no is_clock_v.
template <class T>
concept clock = requires {
  typename T::rep;
  typename T::period;
  typename T::duration;
  typename T::time_point;
  T::is_steady;
  T::now();
};

// Nanoseconds in a long double, which holds the time of any duration without an overflow, and a
// number of nanoseconds of 64 bits exactly.
using Ahead = std::chrono::duration<long double, std::nano>;
template <class Rep, class Period>
Ahead ahead(const std::chrono::duration<Rep, Period>& time) {
  return Ahead(static_cast<long double>(time.count()) * Period::num * std::nano::den / Period::den);
}

// A call of launch::deferred that no thread has waited for.
inline bool is_deferred(const Task& task) {
  return task.deque == nullptr && task.operations->run != nullptr &&
         (task.state.load() & kStarted) == 0;
}

// The common part of future and shared_future. It owns one reference.
template <class R>
class Handle : ResultType<R> {
 public:
  bool valid() const noexcept { return state_ != nullptr; }

  void wait() const { wait_until_ready(checked()); }

  template <class Rep, class Period>
  future_status wait_for(const std::chrono::duration<Rep, Period>& time) const {
    return wait_at_most(ahead(time));
  }
  template <class Clock, class Duration>
  future_status wait_until(const std::chrono::time_point<Clock, Duration>& time) const {
    static_assert(clock<Clock>, "the time point's Clock must be a clock");
    // The clock may be set during the wait, so the clock decides.
    for (;;) {
      const Ahead left = ahead(time.time_since_epoch()) - ahead(Clock::now().time_since_epoch());
      const future_status status = wait_at_most(left);
      if (status != future_status::timeout || !(left > left.zero())) return status;
    }
  }

 protected:
  Handle() = default;
  explicit Handle(State<R>* state) noexcept : state_(state) {}
  Handle(Handle&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  ~Handle() { let_go(); }

  void replace(State<R>* state) noexcept {
    let_go();
    state_ = state;
  }
  State<R>* give() noexcept { return std::exchange(state_, nullptr); }
  State<R>& checked() const {
    if (state_ == nullptr) throw_no_state();
    return *state_;
  }
  [[noreturn, gnu::noinline, gnu::cold]] static void throw_no_state() {
    throw future_error(future_errc::no_state);
  }

 private:
  future_status now() const {
    State<R>& state = checked();
    if (state.ready()) return future_status::ready;
    return is_deferred(state) ? future_status::deferred : future_status::timeout;
  }
  future_status wait_at_most(Ahead time) const {
    const future_status status = now();
    if (status != future_status::timeout || !(time > time.zero())) return status;  // nor a NaN
    constexpr Ahead longest = std::chrono::hours(24 * 365 * 100);  // as good as for ever
    const timespec deadline =
        deadline_in(std::chrono::ceil<std::chrono::nanoseconds>(std::min(time, longest)));
    return block_until(*state_, &deadline) ? future_status::ready : future_status::timeout;
  }
  void let_go() noexcept {
    if (state_ != nullptr) [[unlikely]]
      let_go_slowly(*state_);
  }
  // The function does not take the handle, so the handle may live in a register.
  [[gnu::noinline]] static void let_go_slowly(State<R>& state) noexcept {
    // The last future of a task waits for the task. Other futures may let go at the same moment:
    // the last future has the only reference that is left.
    if (state.deque != nullptr) {
      // ORDER sole: acquire, pairs with last-reference.
      if (state.references.load(std::memory_order_acquire) != 0 &&
          state.references.fetch_sub(1) != 0) {
        return;
      }
      wait_until_ready(state);
      state.operations->destroy(state);
    } else {
      state.release();
    }
  }

  State<R>* state_ = nullptr;
};

}  // namespace detail

// The result of one call, which the program fetches once. The destructor of the future of an async
// waits for the call.
template <class R>
class future : public detail::Handle<R> {
 public:
  future() noexcept = default;
  future(future&&) noexcept = default;
  future& operator=(future&& other) noexcept {
    if (this != &other) this->replace(other.give());
    return *this;
  }

  // Returns the value, or throws the exception of the call, or future_error(no_state) if not valid.
  R get() {
    detail::State<R>* const state = this->give();
    if (state == nullptr) [[unlikely]]
      detail::Handle<R>::throw_no_state();
    return fetch(state);
  }

  shared_future<R> share() noexcept;

 private:
  friend shared_future<R>;
  friend detail::Await<R>;
  friend future detail::make_future<R>(detail::State<R>*) noexcept;
  explicit future(detail::State<R>* state) noexcept : detail::Handle<R>(state) {}

  // Not inlined, and each of its calls is its last step: so it saves no registers.
  [[gnu::noinline]] static R fetch(detail::State<R>* state) {
    detail::Worker& worker = *detail::current_worker;
    detail::Claim found = detail::Claim::other;
    if (state->deque == &worker && detail::stack_left(worker)) found = worker.try_take(*state);
    if (found == detail::Claim::taken) [[likely]]
      return call(state);
    return fetch_slowly(state, found);
  }
  [[gnu::noinline]] static R fetch_slowly(detail::State<R>* state, detail::Claim found) {
    if (found == detail::Claim::shared ? detail::current_worker->take_slowly(*state)
                                       : detail::is_deferred(*state)) {
      return call(state);
    }
    const future owner(state);  // lets go of the state in any case
    detail::wait_until_ready(*state);
    return state->move_out();
  }
  // Only this future knows the call, which no thread has begun.
  static R call(detail::State<R>* state) {
    return static_cast<const detail::CallOperations<R>*>(state->operations)
        ->call_and_destroy(*state);
  }
};

// The same result for any number of readers.
template <class R>
class shared_future : public detail::Handle<R> {
  using Reference =
      std::conditional_t<std::is_void_v<R>, void, std::add_lvalue_reference_t<const R>>;

 public:
  shared_future() noexcept = default;
  shared_future(shared_future&&) noexcept = default;
  shared_future(future<R>&& other) noexcept : detail::Handle<R>(other.give()) {}  // NOLINT: as std
  shared_future(const shared_future& other) noexcept : detail::Handle<R>(other.another()) {}
  shared_future& operator=(shared_future&& other) noexcept {
    if (this != &other) this->replace(other.give());
    return *this;
  }
  shared_future& operator=(const shared_future& other) noexcept {
    if (this != &other) this->replace(other.another());
    return *this;
  }

  // Returns the value, which lives as long as its last shared_future, or throws the exception of
  // the call.
  Reference get() const {
    detail::State<R>& state = this->checked();
    detail::wait_until_ready(state);
    state.rethrow_failure();
    if constexpr (std::is_reference_v<R>) {
      return *state.stored;
    } else if constexpr (!std::is_void_v<R>) {
      return state.stored;
    }
  }

 private:
  detail::State<R>* another() const noexcept {
    if (!this->valid()) return nullptr;
    detail::State<R>& state = this->checked();
    // ORDER another-reference: relaxed, ordered by last-reference: the caller holds one already.
    state.references.fetch_add(1, std::memory_order_relaxed);
    return &state;
  }
};

template <class R>
shared_future<R> future<R>::share() noexcept {
  return shared_future<R>(std::move(*this));
}

namespace detail {

template <class R>
future<R> make_future(State<R>* state) noexcept {
  return future<R>(state);
}

}  // namespace detail

}  // namespace tmk
