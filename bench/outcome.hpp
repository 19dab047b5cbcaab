// The outcome of a task for its waiter: a value or an exception. It is for backends whose library
// has no futures, or whose schedulers no exception may cross. Reading it is ordered after writing
// it by the library's join.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace bench {

// The part of a task that its handle knows: only the type of the result, as with std::future.
template <class Result>
class Task {
 public:
  virtual ~Task() = default;

  // After the join, once. A task that was never run is a fault of the backend: bad_variant_access.
  Result get() {
    if (outcome_.index() == 2) std::rethrow_exception(std::get<2>(std::move(outcome_)));
    if constexpr (std::is_void_v<Result>) static_cast<void>(std::get<1>(outcome_));
    if constexpr (std::is_reference_v<Result>) {
      return static_cast<Result>(*std::get<1>(outcome_));
    } else if constexpr (!std::is_void_v<Result>) {
      return std::get<1>(std::move(outcome_));
    }
  }

 protected:
  void run(auto& call) noexcept {
    try {
      if constexpr (std::is_void_v<Result>) {
        call();
        outcome_.template emplace<1>();
      } else if constexpr (std::is_reference_v<Result>) {
        outcome_.template emplace<1>(std::addressof(call()));
      } else {
        outcome_.template emplace<1>(call());
      }
    } catch (...) {
      outcome_.template emplace<2>(std::current_exception());
    }
  }

 private:
  using Stored = std::conditional_t<
      std::is_void_v<Result>, std::tuple<>,
      std::conditional_t<std::is_reference_v<Result>, std::add_pointer_t<Result>, Result>>;
  std::variant<std::monostate, Stored, std::exception_ptr> outcome_;
};

template <class F, class... A>
using result_of = std::invoke_result_t<std::decay_t<F>, std::decay_t<A>...>;

// callable(args...), all decayed as std::async does. Base<R> is a Task<R> with the backend's data
// for the join.
template <template <class> class Base, class F, class... A>
class Call final : public Base<result_of<F, A...>> {
 public:
  template <class... T>
  explicit Call(F&& callable, T&&... args)
      : callable_(std::forward<F>(callable)), args_(std::forward<T>(args)...) {}

  void operator()() noexcept {
    auto call = [this]() -> decltype(auto) {
      return std::apply(
          [this](auto&... args) -> decltype(auto) {
            return std::invoke(std::move(callable_), std::move(args)...);
          },
          args_);
    };
    this->run(call);
  }

 private:
  std::decay_t<F> callable_;
  std::tuple<std::decay_t<A>...> args_;
};

// The handle that async returns. Joined is a Task with join(), which returns when the task has
// ended. The destructor joins too, because objects that the task refers to may be gone after it, as
// when another get() threw.
template <class Joined>
class Handle {
 public:
  explicit Handle(std::unique_ptr<Joined> task) : task_(std::move(task)) {}
  Handle(Handle&&) noexcept = default;
  Handle& operator=(Handle&& other) noexcept {
    std::swap(task_, other.task_);
    return *this;
  }
  ~Handle() {
    if (task_) task_->join();
  }
  decltype(auto) get() {
    const std::unique_ptr<Joined> task = std::move(task_);
    task->join();
    return task->get();
  }

 private:
  std::unique_ptr<Joined> task_;
};

// The first exception of branches that may throw at the same time. Costs a load when there is none.
class FirstError {
 public:
  void guard(auto& branch) noexcept {
    try {
      branch();
    } catch (...) {
      if (!thrown_.exchange(true)) error_ = std::current_exception();
    }
  }

  // After the join; leaves none.
  void rethrow() {
    if (thrown_) [[unlikely]] {
      thrown_ = false;
      std::rethrow_exception(std::exchange(error_, nullptr));
    }
  }

 private:
  std::atomic<bool> thrown_ = false;
  std::exception_ptr error_;
};

}  // namespace bench
