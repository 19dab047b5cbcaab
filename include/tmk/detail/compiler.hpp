// Macros for the compiler features that tmk uses beyond the standard. TMK_TSAN tells whether the
// program is built with ThreadSanitizer.
#pragma once

#include <cstdlib>  // any header of the C library says whether it is glibc

#if defined(__SANITIZE_THREAD__)
#define TMK_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TMK_TSAN 1
#endif
#endif
#ifndef TMK_TSAN
#define TMK_TSAN 0
#endif

// For functions that must be a part of their caller: the future then lives in registers. Functions
// off the fast paths are noinline, because g++ lets a source file grow by a share of its size only:
// what slow code takes of that share, the fast paths and the program's own functions lack.
#define TMK_INLINE [[gnu::always_inline]] inline

// A variable that each thread has at a fixed distance from its stack, so that no call is needed to
// find it. Code of an executable knows the distance; code of a shared library looks it up. musl has
// no such places for libraries that dlopen loads.
#if !defined(__PIC__) || defined(__PIE__)
#define TMK_THREAD_LOCAL [[gnu::tls_model("local-exec")]] inline thread_local constinit
#elif defined(__GLIBC__)
#define TMK_THREAD_LOCAL [[gnu::tls_model("initial-exec")]] inline thread_local constinit
#else
#define TMK_THREAD_LOCAL inline thread_local constinit
#endif
