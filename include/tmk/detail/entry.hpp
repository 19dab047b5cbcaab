// What lies in a place of a deque: null, or a task and the mark of its siblings, the tasks that one
// call of a function has made.
#pragma once

#include <cstdint>

#include "compiler.hpp"
#include "stack.hpp"
#include "task.hpp"

namespace tmk::detail {

// An odd entry has the mark in its low bits, in which the address of the task is zero. An even
// entry is a task without siblings.
using Entry = std::uintptr_t;
inline Entry siblings_of(Entry entry) { return entry % 2 != 0 ? entry % kTaskAlignment : 0; }
inline Task* task_of(Entry entry) { return reinterpret_cast<Task*>(entry - siblings_of(entry)); }

// The mark of all tasks that one call of a function makes, from the place of its stack. The calls
// of other functions may have the same mark by chance: then a thief makes a worse choice.
TMK_INLINE Entry siblings_here() { return (stack_pointer() / 8 % kTaskAlignment) | 1; }

}  // namespace tmk::detail
