// System calls that neither set errno nor are wrapped, and the clock. They bypass the replacements
// of libraries that come before the agent.
#pragma once

#include <sys/syscall.h>

#include <cstddef>
#include <cstdint>
#include <ctime>

#include "probe/agent/real.hpp"

namespace threadmark::agent {

inline long raw_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                     long f = 0) {
#if defined(__aarch64__)
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc 0"
               : "+r"(x0)
               : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
               : "memory");
  return x0;
#else
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
#endif
}

template <class Pointer>
long as_word(Pointer* pointer) {
  return static_cast<long>(reinterpret_cast<std::uintptr_t>(pointer));
}

inline std::uint64_t now_ns(clockid_t clock = CLOCK_MONOTONIC) {
  timespec at{};
  static_cast<void>(real().clock_gettime(clock, &at));
  return static_cast<std::uint64_t>(at.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(at.tv_nsec);
}

}  // namespace threadmark::agent
