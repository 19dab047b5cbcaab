// tmk::fork_join and tmk::task_scope, for callers that need no future that can be moved.
//
//   auto [left, right] = tmk::fork_join([&] { return sum(a); }, [&] { return sum(b); });
//
//   tmk::task_scope tasks;
//   for (auto& part : parts) tasks.run([&part] { work(part); });
//   tasks.wait();
//
// detail/scheduler.md argues the memory orders.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "detail/branch_place.hpp"
#include "detail/call.hpp"
#include "detail/compiler.hpp"
#include "detail/scope_links.hpp"
#include "detail/state.hpp"
#include "detail/state_memory.hpp"
#include "detail/this_worker.hpp"
#include "detail/wait.hpp"
#include "detail/worker.hpp"

namespace tmk {

namespace detail {

// The form in which a callable reaches its branch: a temporary that fits in two registers by value,
// any other callable by reference. The result of the callable may refer to the callable.
template <class F>
constexpr bool passed_by_value() {
  if constexpr (std::is_reference_v<F>) {
    return false;
  } else {
    return std::is_trivially_copyable_v<F> && std::is_move_constructible_v<F> &&
           sizeof(F) <= 2 * sizeof(void*) && !std::is_reference_v<std::invoke_result_t<F&>>;
  }
}
template <class F>
using Passed = std::conditional_t<passed_by_value<F>(), F, F&>;
template <class F>
struct Passing {
  F callable;
  decltype(auto) operator()() { return std::invoke(callable); }
};
template <class F>
using ResultOfPassed = std::invoke_result_t<std::remove_reference_t<F>&>;

// A branch of a fork_join, on the stack of the thread that joins it.
template <class F>
struct Branch : CallState<ResultOfPassed<F>, Passing<F>> {
  using R = ResultOfPassed<F>;
  // Forks the branch. The worker may be unbound_worker; the constructor then replaces it by a bound
  // worker.
  TMK_INLINE Branch(Worker*& from, F&& callable) noexcept
      : Branch(place_for_branch(from), from, std::forward<F>(callable)) {}

  TMK_INLINE R join(Worker& self) {
    const Claim found = stack_left(self) ? self.take_newest(*this) : Claim::other;
    if (found != Claim::taken) [[unlikely]]
      return join_slowly(self, found);
    return this->call();
  }
  // Another branch has thrown. This branch runs to its end, and its outcome is dropped.
  [[gnu::noinline, gnu::cold]] void abandon() noexcept {
    if (this->deque != nullptr) {
      wait_for_branch(*this);
    } else {
      this->run(*this);
    }
    this->end_outcome();
  }

 private:
  struct End {
    Branch& branch;
    ~End() { branch.end_outcome(); }
  };
  TMK_INLINE Branch(Place place, Worker*& from, F&& callable) noexcept
      : CallState<R, Passing<F>>(place, std::in_place, std::forward<F>(callable)) {
    if (place.deque != nullptr) from->publish(*this, place.index, kBranch);  // else join runs it
  }
  bool take_slowly(Worker& self, Claim found) {
    if (found == Claim::shared) return self.take_newest_slowly(*this);
    // In a child of fork, the task may have another deque now.
    return this->deque == &self ? stack_left(self) && self.take(*this) : this->deque == nullptr;
  }
  [[gnu::noinline, gnu::cold]] R join_slowly(Worker& self, Claim found) {
    if (take_slowly(self, found)) return this->call();
    wait_for_branch(*this);
    const End end{*this};
    return this->move_out();
  }
};

// The type that stands for a result of type R in a tuple.
template <class R>
using Value = std::conditional_t<
    std::is_void_v<R>, std::monostate,
    std::conditional_t<std::is_reference_v<R>, std::reference_wrapper<std::remove_reference_t<R>>,
                       std::remove_cv_t<R>>>;
template <class R, class J>
Value<R> value_of(J&& join) {
  if constexpr (std::is_void_v<R>) {
    join();
    return std::monostate{};
  } else if constexpr (std::is_reference_v<R>) {
    return std::ref(join());
  } else {
    return join();
  }
}
// The values of several calls. A function returns them in registers if they fit in two. It never
// returns the values of a tuple in registers.
template <class... R>
struct Values {};
template <class R, class... S>
struct Values<R, S...> {
  template <std::size_t I>
  auto&& move_out() {
    if constexpr (I == 0) {
      return std::move(first);
    } else {
      return rest.template move_out<I - 1>();
    }
  }
  Value<R> first;
  [[no_unique_address]] Values<S...> rest;
};

// Branches that are forked from the last to the first. So they are joined, newest first, in the
// order in which they were written.
template <class... F>
struct Branches {
  explicit Branches(Worker*& /*from*/) {}
  Values<> join(Worker& /*self*/) { return {}; }
  void abandon() noexcept {}
};
// Joins the branches, or abandons them in the destructor. No other thread knows this object, so it
// need not be in memory.
template <class... F>
struct Join {
  ~Join() {
    if (!begun) branches.abandon();
  }
  Values<ResultOfPassed<F>...> operator()(Worker& self) {
    begun = true;
    return branches.join(self);
  }
  Branches<F...>& branches;
  bool begun = false;
};
template <class F, class... G>
struct Branches<F, G...> {
  TMK_INLINE explicit Branches(Worker*& from, F&& callable, G&&... others)
      : rest(from, std::forward<G>(others)...), first(from, std::forward<F>(callable)) {}
  Values<ResultOfPassed<F>, ResultOfPassed<G>...> join(Worker& self) {
    using R = ResultOfPassed<F>;
    Join<G...> others{rest};
    return {value_of<R>([&]() -> R { return first.join(self); }), others(self)};
  }
  void abandon() noexcept {
    first.abandon();
    rest.abandon();
  }
  [[no_unique_address]] Branches<G...> rest;
  Branch<F> first;
};

// Not inlined: a recursion would save the registers of this function before each test for its end.
template <class F, class... G>
[[gnu::noinline]] Values<ResultOfPassed<F>, ResultOfPassed<G>...> fork_and_join(F first,
                                                                                G... others) {
  using R = ResultOfPassed<F>;
  Worker* worker = current_worker;
  Branches<G...> branches(worker, std::forward<G>(others)...);
  Join<G...> join{branches};
  return {value_of<R>([&]() -> R { return std::invoke(first); }), join(*worker)};
}

}  // namespace detail

// Calls all, possibly at the same time, and returns when all have ended. The result is a tuple of
// their results, with std::monostate for void and std::reference_wrapper for a reference, or
// nothing if all return void. The first exception, in the order of writing, is thrown after the
// last has ended. Temporaries may be copied before they are called.
template <class F, class... G>
TMK_INLINE auto fork_join(F&& first, G&&... others) {
  using R = std::invoke_result_t<F&>;
  auto values = detail::fork_and_join<detail::Passed<F>, detail::Passed<G>...>(
      static_cast<detail::Passed<F>&&>(first), static_cast<detail::Passed<G>&&>(others)...);
  if constexpr (!(std::is_void_v<R> && ... && std::is_void_v<std::invoke_result_t<G&>>)) {
    return [&]<std::size_t... I>(std::index_sequence<I...> /*all*/) {
      // The type is not deduced, because the tuple of one pair is not that pair.
      return std::tuple<detail::Value<R>, detail::Value<std::invoke_result_t<G&>>...>(
          values.template move_out<I>()...);
    }(std::index_sequence_for<F, G...>());
  }
}

// Any number of tasks that end before the scope does. run() may be called by any thread and by the
// tasks themselves as long as wait() has not returned. wait() and the destructor may be called by
// any thread, one at a time.
class task_scope {
 public:
  task_scope() = default;
  task_scope(const task_scope&) = delete;
  task_scope& operator=(const task_scope&) = delete;
  ~task_scope() { join_all(); }

  // bad_alloc if there is no memory for the task.
  template <class F>
  void run(F&& callable) {
    using S = Spawned<std::decay_t<F>>;
    detail::Worker* worker = detail::current_worker;
    S* const state = detail::make_state<S>(worker, std::in_place, std::forward<F>(callable));
    state->scope = this;
    try {
      worker->push(*state, detail::kScoped);
    } catch (...) {
      state->operations->destroy(*state);
      throw;
    }
    if (worker == &owner_ && own_.add(*state)) return;
    Link* last = nullptr;
    do {
      state->next = last;
      // ORDER add-foreign: release, pairs with take-foreign; a failure is relaxed, rechecked by
      // add-foreign.
    } while (!foreign_.compare_exchange_weak(last, state, std::memory_order_release,
                                             std::memory_order_relaxed));
  }

  // Returns when all tasks have ended; throws the first exception that was seen. The scope can be
  // used again.
  void wait() {
    join_all();
    if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  using Link = detail::ScopeLink;
  template <class C>
  struct Spawned : detail::CallState<void, C, Spawned<C>>, Link {
    using Base = detail::CallState<void, C, Spawned>;
    template <class... A>
    explicit Spawned(std::in_place_t tag, A&&... parts)
        : Base(tag, std::forward<A>(parts)...), Link{nullptr, *this} {}
  };

  void join_all() noexcept {
    if (detail::current_worker != &owner_) own_.adopt();
    for (;;) {
      Link*& newest = own_.newest;
      // ORDER take-foreign: acquire, pairs with add-foreign.
      if (newest == nullptr) newest = foreign_.exchange(nullptr, std::memory_order_acquire);
      if (newest == nullptr) return;
      join(std::exchange(newest, newest->next)->state);
    }
  }
  void join(detail::State<void>& state) noexcept {
    try {
      detail::Worker& self = *detail::current_worker;
      if (state.deque == &self && detail::stack_left(self) && self.take(state)) {
        const auto* call = static_cast<const detail::CallOperations<void>*>(state.operations);
        return call->call_and_destroy(state);
      }
      struct End {
        detail::State<void>& state;
        ~End() { state.operations->destroy(state); }
      } const end{state};
      detail::wait_for_branch(state);
      state.rethrow_failure();
    } catch (...) {
      if (error_ == nullptr) error_ = std::current_exception();
    }
  }

  detail::Worker& owner_ = detail::this_worker();
  detail::OwnLinks own_;                 // tasks that the owner has started, or the next to join
  std::atomic<Link*> foreign_{nullptr};  // the newest task that others have started
  std::exception_ptr error_;
};

}  // namespace tmk
