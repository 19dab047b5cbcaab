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

#include <array>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "detail/call.hpp"
#include "detail/exit_actions.hpp"
#include "detail/scope_links.hpp"
#include "detail/state.hpp"
#include "detail/state_memory.hpp"
#include "detail/submit.hpp"
#include "detail/this_worker.hpp"
#include "detail/wait.hpp"
#include "detail/worker.hpp"

namespace tmk {

namespace detail {

template <class F>
struct Reference {
  F& callable;
  decltype(auto) operator()() { return std::invoke(callable); }
};

// One branch of a fork_join, on the stack of the thread that joins it.
template <class F>
struct Branch : CallState<std::invoke_result_t<F&>, Reference<F>> {
  using R = std::invoke_result_t<F&>;
  explicit Branch(F& callable) : CallState<R, Reference<F>>(std::in_place, callable) {}

  void fork(Worker*& from) noexcept {
    try {
      submit_branch(from, *this);
    } catch (const std::bad_alloc&) {  // it has no deque, so join runs it
      // ORDER no-place: relaxed, owner-only.
      this->index.store(Task::claimed, std::memory_order_relaxed);
    }
  }
  R join(Worker& self) {
    if (!(stack_left(self) && self.take_newest(*this))) [[unlikely]]
      return join_slowly(self);
    const ExitScope exits;
    return this->call();
  }
  // Another branch has thrown: this one runs to its end, and its outcome is dropped.
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
  [[gnu::noinline, gnu::cold]] R join_slowly(Worker& self) {
    // In a child of fork, the task may have another deque now.
    if (this->deque == &self ? stack_left(self) && self.take(*this) : this->deque == nullptr) {
      const ExitScope exits;
      return this->call();
    }
    wait_for_branch(*this);
    const End end{*this};
    return this->move_out();
  }
};

template <class... B>
struct Branches {
  template <class... F>
  explicit Branches(F&... callables) : all(callables...) {}
  void fork(Worker*& from) { fork_each(from, std::index_sequence_for<B...>()); }
  template <std::size_t... I>
  void fork_each(Worker*& from, std::index_sequence<I...> /*all*/) {
    // The last first: so they are joined, newest first, in the order they were written.
    (std::get<sizeof...(B) - 1 - I>(all).fork(from), ...);
  }
  std::tuple<B...> all;
};

// Joins branches, and abandons the others when it ends. No other thread knows it, so it need not be
// in memory.
template <class... B>
struct Joins {
  explicit Joins(Branches<B...>& given) : branches(given) {}
  ~Joins() { abandon(std::index_sequence_for<B...>()); }
  template <std::size_t... I>
  void abandon(std::index_sequence<I...> /*all*/) {
    ((joined[I] ? void() : std::get<I>(branches.all).abandon()), ...);
  }
  template <std::size_t I>
  decltype(auto) join(Worker& self) {
    joined[I] = true;
    return std::get<I>(branches.all).join(self);
  }
  Branches<B...>& branches;
  std::array<bool, sizeof...(B)> joined{};
};

// What stands for a result of type R in a tuple.
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

}  // namespace detail

// Calls all, possibly at the same time, and returns when all have ended: a tuple of what they
// returned, with std::monostate for void and std::reference_wrapper for a reference; nothing if all
// return void. The first exception, in the order of writing, is thrown after the last has ended.
template <class F, class... G>
auto fork_join(F&& first, G&&... others) {
  detail::Worker* worker = detail::current_worker;
  detail::Branches<detail::Branch<std::remove_reference_t<G>>...> branches(others...);
  branches.fork(worker);
  detail::Joins joins(branches);
  using R = std::invoke_result_t<F&>;
  return [&]<std::size_t... I>(std::index_sequence<I...> /*all*/) {
    if constexpr ((std::is_void_v<R> && ... && std::is_void_v<std::invoke_result_t<G&>>)) {
      std::invoke(first);
      (joins.template join<I>(*worker), ...);
    } else {
      // Braces: in this order. Not deduced: the tuple of one pair is not that pair.
      return std::tuple<detail::Value<R>, detail::Value<std::invoke_result_t<G&>>...>{
          detail::value_of<R>([&]() -> R { return std::invoke(first); }),
          detail::value_of<std::invoke_result_t<G&>>(
              [&]() -> std::invoke_result_t<G&> { return joins.template join<I>(*worker); })...};
    }
  }(std::index_sequence_for<G...>());
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

  // bad_alloc if there is no memory for it.
  template <class F>
  void run(F&& callable) {
    using S = Spawned<std::decay_t<F>>;
    detail::Worker* worker = detail::current_worker;
    S* const state = detail::make_state<S>(worker, std::in_place, std::forward<F>(callable));
    state->scope = this;
    try {
      detail::submit(*worker, *state, detail::kScoped);
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

  // Returns when all have ended; throws the first exception that was seen. The scope can be used
  // again.
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
