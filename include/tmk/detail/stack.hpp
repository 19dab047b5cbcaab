// The stack of a thread: where it has got to, how large it is, and how far tasks may use it.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "compiler.hpp"

namespace tmk::detail {

// Where the stack has got to.
inline std::uintptr_t stack_pointer() {
#if defined(__x86_64__)
  std::uintptr_t here;
  asm("mov %%rsp, %0" : "=r"(here));
  return here;
#else
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
#endif
}

// Whether the stack is above that address. The same, in one instruction less.
inline bool stack_is_above(const std::uintptr_t& end) {
#if defined(__x86_64__) && defined(__GCC_ASM_FLAG_OUTPUTS__)
  bool above;
  asm("cmp %1, %%rsp" : "=@cca"(above) : "m"(end));
  return above;
#else
  return stack_pointer() > end;
#endif
}

// The stack of a thread that is made without a wish for one: what a task of std::async has.
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
// calls on one stack, and fewer addresses leave no room for large ones.
inline std::size_t pool_stack() {
  constexpr bool kLarge = TMK_TSAN == 0 && sizeof(void*) >= 8;
  return std::max(default_stack(), kLarge ? std::size_t{64} << 20 : 0);
}
// Above this address a task may begin to run in place: it then has as much stack as a thread of its
// own would have or, on a thread that has less than two of these, half as much.
struct StackBounds {
  std::uintptr_t low = 0, high = 0, limit = 0;
};
TMK_THREAD_LOCAL StackBounds known_stack{};
inline const StackBounds& stack_bounds() {
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
