// co_await of a tmk::future in any coroutine: docs/loops.md has its meaning and errors.
//
//   Coroutine f() { const int value = co_await tmk::async(work); ... }
//
// A call that no thread has started is run in place, as get() does. Else the coroutine is suspended
// and no thread waits; when the outcome is there, a task of the thread that made it resumes the
// coroutine. detail/scheduler.md argues the memory orders.
#pragma once

#include <coroutine>
#include <new>
#include <utility>

#include "detail/exit_actions.hpp"
#include "detail/task.hpp"
#include "detail/this_worker.hpp"
#include "detail/wait.hpp"
#include "future.hpp"

namespace tmk {

namespace detail {

// Resumes a coroutine. The first run, by the thread that publishes the awaited outcome, makes this
// task pending. The second run resumes the coroutine. So the coroutine runs above no frame of the
// publisher, which may hold locks. If there is no memory to make the task pending, the coroutine
// does run there.
struct Resumption : Task {
  Resumption() { operations = &kSubmit; }
  static void make_pending(Task& task) {
    task.operations = &kResume;
    try {
      this_worker().push(task);
    } catch (const std::bad_alloc&) {
      resume(task);
    }
  }
  static void resume(Task& task) {
    const ExitScope exits;
    static_cast<Resumption&>(task).coroutine.resume();  // this object may end in it
  }
  static void destroy(Task& /*task*/) noexcept {}  // it is a part of the coroutine
  static constexpr Operations kSubmit{&make_pending, &destroy}, kResume{&resume, &destroy};
  std::coroutine_handle<> coroutine;
};

// The awaiter that co_await makes of a future. It takes the future over.
template <class R>
class Await {
 public:
  explicit Await(future<R>&& awaited) : future_(std::move(awaited)) {}
  Await(const Await&) = delete;
  Await& operator=(const Await&) = delete;

  bool await_ready() {
    Task& task = future_.checked();
    const Found found = run_in_place(task);
    if (found == Found::pending) block_until(task);  // its index is not free for await
    return found != Found::claimed;
  }
  bool await_suspend(std::coroutine_handle<> coroutine) {
    resumption_.coroutine = coroutine;
    return future_.checked().await(resumption_);
  }
  R await_resume() { return future_.get(); }

 private:
  future<R> future_;
  Resumption resumption_;
};

}  // namespace detail

// Returns the value, or throws the exception of the call, or future_error(no_state) if the future
// is not valid. The future is not valid afterwards. The coroutine must not be destroyed while it is
// suspended here.
template <class R>
auto operator co_await(future<R>& awaited) {
  return detail::Await<R>(std::move(awaited));
}
template <class R>
auto operator co_await(future<R>&& awaited) {
  return detail::Await<R>(std::move(awaited));
}

}  // namespace tmk
