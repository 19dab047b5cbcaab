// What libraries share that stand before pthread_mutex_lock: glibc's own functions, which mutexes
// are ordinary, and a lock that is tried for some tens of microseconds.
#pragma once
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>

enum { pauses = 2000, between_tries = 16 };

typedef int mutex_function(pthread_mutex_t*);

static mutex_function* real_lock;
static mutex_function* real_try;

// Before all else: a constructor of another library may lock before this one's constructor ran.
__attribute__((constructor)) static void find(void) {
  if (real_lock) return;
  *(void**)&real_try = dlsym(RTLD_NEXT, "pthread_mutex_trylock");
  *(void**)&real_lock = dlsym(RTLD_NEXT, "pthread_mutex_lock");
}

static void rest(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield" ::: "memory");
#else
  __asm__ volatile("" ::: "memory");
#endif
}

// Mutexes of other kinds are recursive, robust or shared, and a try of them has more outcomes.
static int is_plain(const pthread_mutex_t* mutex) {
  const int kind = __atomic_load_n(&mutex->__data.__kind, __ATOMIC_RELAXED);
  return kind == PTHREAD_MUTEX_TIMED_NP || kind == PTHREAD_MUTEX_ADAPTIVE_NP;
}

// Whether it got the mutex.
static int try_patiently(pthread_mutex_t* mutex) {
  for (int i = 0; i < pauses; ++i) {
    if (i % between_tries == 0 && __atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED) == 0 &&
        real_try(mutex) == 0)
      return 1;
    rest();
  }
  return 0;
}
