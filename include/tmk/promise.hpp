// tmk::promise and packaged_task, the providers of futures: the standard's ([futures.promise],
// [futures.task]).
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <type_traits>
#include <utility>

#include "detail/call.hpp"
#include "detail/exit_actions.hpp"
#include "detail/state.hpp"
#include "detail/task.hpp"
#include "future.hpp"

namespace tmk {

namespace detail {

// The state of a promise, with the allocator that its memory came from.
template <class R, class Allocator>
struct PromiseState : State<R> {
  using Own = typename std::allocator_traits<Allocator>::template rebind_alloc<PromiseState>;
  explicit PromiseState(const Own& with) : allocator(with) { this->operations = &kOperations; }

  static PromiseState* make(const Allocator& with) {
    Own own(with);
    const auto memory = std::allocator_traits<Own>::allocate(own, 1);
    return ::new (static_cast<void*>(std::to_address(memory))) PromiseState(own);
  }
  static void destroy(Task& task) noexcept {
    auto& self = static_cast<PromiseState&>(task);
    self.end_outcome();
    using Traits = std::allocator_traits<Own>;
    const auto memory = std::pointer_traits<typename Traits::pointer>::pointer_to(self);
    Own own(std::move(self.allocator));
    self.~PromiseState();
    Traits::deallocate(own, memory, 1);
  }
  static constexpr CallOperations<R> kOperations{{nullptr, &destroy}, nullptr};
  [[no_unique_address]] Own allocator;
};

// The common part of promise and packaged_task: a state, its one future, its one satisfaction.
template <class R>
class Provider : ResultType<R> {
 public:
  Provider() = default;
  explicit Provider(State<R>* state) noexcept : state_(state) {}
  Provider(Provider&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  Provider& operator=(Provider&& other) noexcept {
    Provider(std::move(other)).swap(*this);
    return *this;
  }
  ~Provider() {
    if (state_ == nullptr) return;
    if (claim(*state_)) {
      state_->set_exception(broken_promise());
      state_->publish(true);
    }
    state_->release();
  }
  void swap(Provider& other) noexcept { std::swap(state_, other.state_); }
  bool valid() const noexcept { return state_ != nullptr; }
  State<R>* state() const noexcept { return state_; }

  future<R> get_future() {
    if ((checked().state.fetch_or(kRetrieved) & kRetrieved) != 0) {
      throw future_error(future_errc::future_already_retrieved);
    }
    state_->references.fetch_add(1);
    return make_future(state_);
  }

  // `set` stores the outcome in the state. If `set` throws, the promise is unchanged.
  template <class Set>
  void satisfy(bool failed, bool at_exit, const Set& set) {
    Satisfaction act(checked(), at_exit);
    set(*state_);
    act.succeed(failed);
  }
  // Stores the outcome of `call`.
  template <class F>
  void call(bool at_exit, const F& callable) {
    Satisfaction act(checked(), at_exit);
    act.succeed(state_->set_outcome_of(callable));
  }

 private:
  // One attempt to satisfy a state: claimed at first, and given back if it does not succeed.
  class Satisfaction {
   public:
    Satisfaction(State<R>& state, bool at_exit) : state_(state) {
      if (at_exit) {
        arm_thread_exit();
        action_ = std::make_unique<ExitAction>();
      }
      if (!claim(state)) throw future_error(future_errc::promise_already_satisfied);
    }
    ~Satisfaction() {
      if (!succeeded_) state_.state.fetch_and(~kStarted);
    }
    void succeed(bool failed) {
      succeeded_ = true;
      if (action_ == nullptr) return state_.publish(failed);
      state_.references.fetch_add(1);
      *action_ = {.state = &state_, .failed = failed, .next = exit_actions};
      exit_actions = action_.release();
    }

   private:
    State<R>& state_;
    std::unique_ptr<ExitAction> action_;
    bool succeeded_ = false;
  };
  State<R>& checked() const {
    if (state_ == nullptr) throw future_error(future_errc::no_state);
    return *state_;
  }
  static bool claim(State<R>& state) { return (state.state.fetch_or(kStarted) & kStarted) == 0; }

  State<R>* state_ = nullptr;
};

// The part of a promise that does not depend on its kind of outcome.
template <class R>
class PromiseBase {
 public:
  PromiseBase() : PromiseBase(std::allocator_arg, std::allocator<std::byte>()) {}
  template <class Allocator>
  PromiseBase(std::allocator_arg_t /*tag*/, const Allocator& allocator)
      : provider_(PromiseState<R, Allocator>::make(allocator)) {}
  PromiseBase(PromiseBase&&) noexcept = default;
  PromiseBase& operator=(PromiseBase&&) noexcept = default;
  void swap(PromiseBase& other) noexcept { provider_.swap(other.provider_); }

  future<R> get_future() { return provider_.get_future(); }
  void set_exception(std::exception_ptr error) { fail(false, std::move(error)); }
  void set_exception_at_thread_exit(std::exception_ptr error) { fail(true, std::move(error)); }

 protected:
  ~PromiseBase() = default;
  template <class... V>
  void set(bool at_exit, V&&... value) {
    provider_.satisfy(false, at_exit,
                      [&](auto& state) { state.set_value(std::forward<V>(value)...); });
  }

 private:
  void fail(bool at_exit, std::exception_ptr error) {
    provider_.satisfy(true, at_exit, [&](auto& state) { state.set_exception(std::move(error)); });
  }
  Provider<R> provider_;
};

}  // namespace detail

// The other end of a future: it sets the outcome, once.
template <class R>
class [[gnu::abi_tag("tmk")]] promise : public detail::PromiseBase<R> {
 public:
  using detail::PromiseBase<R>::PromiseBase;
  // Throws future_error(promise_already_satisfied) the second time, (no_state) after a move, and
  // any exception of the copy or move of the value.
  void set_value(const R& value) { this->set(false, value); }
  void set_value(R&& value) { this->set(false, std::move(value)); }
  void set_value_at_thread_exit(const R& value) { this->set(true, value); }
  void set_value_at_thread_exit(R&& value) { this->set(true, std::move(value)); }
};

template <class R>
class promise<R&> : public detail::PromiseBase<R&> {
 public:
  using detail::PromiseBase<R&>::PromiseBase;
  void set_value(R& value) { this->set(false, value); }
  void set_value_at_thread_exit(R& value) { this->set(true, value); }
};

template <>
class promise<void> : public detail::PromiseBase<void> {
 public:
  using detail::PromiseBase<void>::PromiseBase;
  void set_value() { set(false); }
  void set_value_at_thread_exit() { set(true); }
};

template <class R>
void swap(promise<R>& a, promise<R>& b) noexcept {
  a.swap(b);
}

template <class>
class [[gnu::abi_tag("tmk")]] packaged_task;  // of a function type only

// A callable whose outcome goes to a future.
template <class R, class... A>
class packaged_task<R(A...)> {
 public:
  packaged_task() noexcept = default;
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, packaged_task> &&
             std::is_invocable_r_v<R, std::decay_t<F>&, A...>)
  explicit packaged_task(F&& callable)
      : callable_(std::make_unique<Holder<std::decay_t<F>>>(std::forward<F>(callable))),
        provider_(fresh()) {}
  packaged_task(packaged_task&&) noexcept = default;
  packaged_task& operator=(packaged_task&&) noexcept = default;
  void swap(packaged_task& other) noexcept {
    std::swap(callable_, other.callable_);
    provider_.swap(other.provider_);
  }

  bool valid() const noexcept { return provider_.valid(); }
  future<R> get_future() { return provider_.get_future(); }
  void operator()(A... arguments) { run(false, std::forward<A>(arguments)...); }
  void make_ready_at_thread_exit(A... arguments) { run(true, std::forward<A>(arguments)...); }
  // A new shared state, for another call of the same callable.
  void reset() {
    if (!valid()) throw future_error(future_errc::no_state);
    provider_ = detail::Provider<R>(fresh());
  }

 private:
  struct Callable {
    virtual ~Callable() = default;
    virtual R call(A&&... arguments) = 0;
  };
  template <class F>
  struct Holder : Callable {
    template <class G>
    explicit Holder(G&& callable) : held(std::forward<G>(callable)) {}
    R call(A&&... arguments) override {
      if constexpr (std::is_void_v<R>) {
        std::invoke(held, std::forward<A>(arguments)...);
      } else {
        return std::invoke(held, std::forward<A>(arguments)...);
      }
    }
    F held;
  };
  static detail::State<R>* fresh() {
    return detail::PromiseState<R, std::allocator<std::byte>>::make({});
  }
  void run(bool at_exit, A&&... arguments) {
    provider_.call(at_exit, [&]() -> R { return callable_->call(std::forward<A>(arguments)...); });
  }

  std::unique_ptr<Callable> callable_;
  detail::Provider<R> provider_;
};

namespace detail {

// The standard library tells the function type of the callable that a packaged_task is made from.
// Its guide for std::function has the same wording, and redirect_std.hpp does not redirect
// std::function.
template <class StdFunction>
struct FunctionOf;
template <class Function>
struct FunctionOf<std::function<Function>> : std::type_identity<Function> {};

}  // namespace detail

template <class R, class... A>
packaged_task(R (*)(A...)) -> packaged_task<R(A...)>;
template <class F>
packaged_task(F)
    -> packaged_task<typename detail::FunctionOf<decltype(std::function(std::declval<F>()))>::type>;

template <class R, class... A>
void swap(packaged_task<R(A...)>& a, packaged_task<R(A...)>& b) noexcept {
  a.swap(b);
}

}  // namespace tmk

template <class R, class Allocator>
struct std::uses_allocator<tmk::promise<R>, Allocator> : std::true_type {};
