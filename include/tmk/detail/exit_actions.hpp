// The actions at the end of the running task: states that set_value_at_thread_exit and similar
// functions have filled become ready.
#pragma once

#include <pthread.h>

#include <memory>

#include "compiler.hpp"
#include "shared_library.hpp"
#include "task.hpp"
#include "thread_key.hpp"

namespace tmk::detail {

struct ExitAction {
  Task* state;
  bool failed;
  ExitAction* next;
};
TMK_THREAD_LOCAL ExitAction* exit_actions = nullptr;

// Publishes the states that were registered since `before`.
[[gnu::noinline, gnu::cold]] inline void fire_exit_actions(ExitAction* before) noexcept {
  while (exit_actions != before) {
    const std::unique_ptr<ExitAction> action(exit_actions);
    exit_actions = action->next;
    action->state->publish(action->failed);
    action->state->release();
  }
}
// If the caller is in no task of tmk, the end of the thread fires the actions.
inline void arm_thread_exit() {
  keep_module_loaded();
  static const pthread_key_t key = make_thread_key([](void*) { fire_exit_actions(nullptr); });
  pthread_setspecific(key, &key);
}
// The extent of a task. Its destructor fires the actions that were registered in the task.
struct ExitScope {
  ExitAction* const before = exit_actions;
  ~ExitScope() {
    if (exit_actions != before) [[unlikely]]
      fire_exit_actions(before);
  }
};

}  // namespace tmk::detail
