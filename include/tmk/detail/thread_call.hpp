// Calls of launch::thread: each on a thread of its own, which ends before its future is ready.
#pragma once

#include <thread>
#include <utility>

#include "call.hpp"
#include "exit_actions.hpp"
#include "state.hpp"
#include "state_memory.hpp"
#include "task.hpp"
#include "this_worker.hpp"

namespace tmk::detail {

// It is made before all other thread_locals of its thread and so destroyed after them. Only then do
// the outcome and the states that were set at the thread's exit become ready.
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

// A call on a thread of its own. The handle that lets go of it last joins the thread.
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
  struct Exits {};  // the end of the thread is the end of the task
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

// The state of a call on a new thread. std::system_error if the system gives none, or bad_alloc.
template <class R, class C, class... A>
State<R>* start_thread(A&&... parts) {
  using S = ThreadState<R, C>;
  Worker* worker = current_worker;
  S* const state = make_state<S>(worker, std::in_place, std::forward<A>(parts)...);
  try {
    state->start();
  } catch (...) {
    state->operations->destroy(*state);
    throw;
  }
  return state;
}

}  // namespace tmk::detail
