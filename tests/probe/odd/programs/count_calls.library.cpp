// preloaded.cpp preloads this library, which counts calls of some functions.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/types.h>

#include <atomic>

namespace {

std::atomic<long> counts[5];

std::atomic<void*> found[5];

// Has no static variable of a function, because the guard of one may take a mutex.
template <class Function>
Function* next(int which, const char* name) {
  ++counts[which];
  if (found[which] == nullptr) found[which] = dlsym(RTLD_NEXT, name);
  return reinterpret_cast<Function*>(found[which].load());
}

}  // namespace

extern "C" {

long counted_calls(int which) { return counts[which]; }

int pthread_mutex_unlock(pthread_mutex_t* mutex) {
  return next<int(pthread_mutex_t*)>(0, "pthread_mutex_unlock")(mutex);
}

int pthread_mutex_lock(pthread_mutex_t* mutex) {
  return next<int(pthread_mutex_t*)>(3, "pthread_mutex_lock")(mutex);
}

int pthread_mutex_trylock(pthread_mutex_t* mutex) {
  return next<int(pthread_mutex_t*)>(4, "pthread_mutex_trylock")(mutex);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*routine)(void*),
                   void* argument) {
  return next<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>(1, "pthread_create")(
      thread, how, routine, argument);
}

pid_t getppid() { return next<pid_t()>(2, "getppid")(); }
}
