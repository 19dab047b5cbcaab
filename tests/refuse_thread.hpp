// This header replaces the C library's pthread_create() in one program, so that the system seems to
// refuse threads.
#pragma once

#include <dlfcn.h>
#include <pthread.h>

#include <cerrno>

// Whether the system refuses the next thread; the including program defines it.
bool refuses_thread();

using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define INTERCEPTED 1
extern "C" Create __interceptor_pthread_create;
#endif
#endif
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*body)(void*), void* argument) noexcept {
  if (refuses_thread()) return EAGAIN;
#if defined(INTERCEPTED)
  return __interceptor_pthread_create(thread, attributes, body, argument);
#else
  static Create* const real = reinterpret_cast<Create*>(dlsym(RTLD_NEXT, "pthread_create"));
  return real(thread, attributes, body, argument);
#endif
}
