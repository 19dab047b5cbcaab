// A task that a thread runs. Run::made() finds the pending tasks that were made within it and have
// to end before it.
#pragma once

#include <cstdint>

#include "entry.hpp"
#include "stack.hpp"
#include "state.hpp"
#include "task.hpp"

namespace tmk::detail {

// A task that a thread runs without joining it as a task of its own, with the stack address at
// which the task began.
struct Run {
  const Task& task;
  const StackBounds& stack;
  std::uintptr_t base;
  Run* outer;  // which goes on when this one has ended
  // Whether a pending task is a branch, or belongs to a scope, that lies on the stack deeper than
  // where this task began.
  bool made(Entry entry) const {
    std::uintptr_t at = entry;
    if (mark_of(entry) == kScoped) {
      at = reinterpret_cast<std::uintptr_t>(static_cast<State<void>*>(task_of(entry))->scope);
    } else if (mark_of(entry) != kBranch) {
      return false;
    }
    return at >= stack.low && at < base;
  }
};

}  // namespace tmk::detail
