// Linked beside a contention program: the system refuses its third thread, once two wait for work.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>

using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define INTERCEPTED 1
extern "C" Create __interceptor_pthread_create;
#endif
#endif
static std::atomic<int> created{0};
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*body)(void*), void* argument) noexcept {
  if (created++ == 2) return EAGAIN;
#if defined(INTERCEPTED)
  return __interceptor_pthread_create(thread, attributes, body, argument);
#else
  static Create* const real = reinterpret_cast<Create*>(dlsym(RTLD_NEXT, "pthread_create"));
  return real(thread, attributes, body, argument);
#endif
}
