// The stack of a thread: its current depth, its size, and the part that tasks may use.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "compiler.hpp"

namespace tmk::detail {

// The current end of the stack.
inline std::uintptr_t stack_pointer() {
#if defined(__x86_64__)
  std::uintptr_t here;
  asm("mov %%rsp, %0" : "=r"(here));
  return here;
#else
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
#endif
}

// Whether the stack is above that address. It compares without stack_pointer() and saves an
// instruction.
inline bool stack_is_above(const std::uintptr_t& end) {
#if defined(__x86_64__) && defined(__GCC_ASM_FLAG_OUTPUTS__)
  bool above;
  asm("cmp %1, %%rsp" : "=@cca"(above) : "m"(end));
  return above;
#else
  return stack_pointer() > end;
#endif
}

// The default stack size of a thread, which a task of std::async has.
inline std::size_t default_stack() {
  static const std::size_t size = [] {
    pthread_attr_t attributes;
    std::size_t bytes = 0;
    pthread_attr_init(&attributes);
    pthread_attr_getstacksize(&attributes, &bytes);
    pthread_attr_destroy(&attributes);
    return bytes;
  }();
  return size;
}
// The stack of a pool's thread, which runs tasks within tasks. ThreadSanitizer can follow 65,536
// calls on one stack. A smaller address space has no room for large stacks.
inline std::size_t pool_stack() {
  constexpr bool kLarge = TMK_TSAN == 0 && sizeof(void*) >= 8;
  return std::max(default_stack(), kLarge ? std::size_t{64} << 20 : 0);
}
// A task may begin to run in place above `limit`. It then has as much stack as a thread of its own
// would have or, on a thread whose stack is less than twice as large, half as much.
struct StackBounds {
  std::uintptr_t low = 0, high = 0, limit = 0;
};
TMK_THREAD_LOCAL StackBounds known_stack{};
[[gnu::noinline]] inline const StackBounds& stack_bounds() {
  if (known_stack.limit != 0) return known_stack;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return known_stack;
  void* lowest = nullptr;
  std::size_t size = 0;
  pthread_attr_getstack(&attributes, &lowest, &size);
  pthread_attr_destroy(&attributes);
  const std::size_t task = size / 2 >= default_stack() ? default_stack() : default_stack() / 2;
  const auto low = reinterpret_cast<std::uintptr_t>(lowest);
  return known_stack = {low, low + size, low + task};
}

}  // namespace tmk::detail
