// An entry of a deque: null, or a task and a mark. The mark is that of its siblings, the tasks that
// one call of a function has made, or that of a task that ends before a call does.
#pragma once

#include <cstdint>

#include "compiler.hpp"
#include "stack.hpp"
#include "task.hpp"

namespace tmk::detail {

// An odd entry has the mark of siblings in its low bits, in which the address of the task is zero.
// An even entry is a task without siblings.
using Entry = std::uintptr_t;
inline constexpr Entry kBranch = 2;  // of a fork_join: the task lies on the stack of the call
inline constexpr Entry kScoped = 4;  // of a task_scope
static_assert(alignof(Task) > (kBranch | kScoped));
inline Entry siblings_of(Entry entry) { return entry % 2 != 0 ? entry % kTaskAlignment : 0; }
inline Entry mark_of(Entry entry) {
  return entry % (entry % 2 != 0 ? kTaskAlignment : alignof(Task));
}
inline Task* task_of(Entry entry) { return reinterpret_cast<Task*>(entry - mark_of(entry)); }
inline bool is_structured(Entry entry) {
  return mark_of(entry) == kBranch || mark_of(entry) == kScoped;
}

// The mark of all tasks that one call of a function makes. It comes from the address of the call's
// stack, as the caller of siblings_here() sees it. Calls of other functions may have the same mark
// by chance: a thief then makes a worse choice.
TMK_INLINE Entry siblings_here() { return (stack_pointer() / 8 % kTaskAlignment) | 1; }

}  // namespace tmk::detail
