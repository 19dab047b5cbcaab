// Makes ordinary mutexes adaptive: a thread that finds one taken spins for a while before it
// sleeps. glibc reads the kind of a mutex at each lock, and ordinary and adaptive ones have the
// same states, so the kind may change while the mutex is in use. glibc.pthread.mutex_spin_count
// bounds the spins.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>

typedef int mutex_function(pthread_mutex_t*);

static mutex_function* real_lock;

__attribute__((constructor)) static void find(void) {
  *(void**)&real_lock = dlsym(RTLD_NEXT, "pthread_mutex_lock");
}

int pthread_mutex_lock(pthread_mutex_t* mutex) {
  if (!real_lock) find();  // called from another library's constructor
  int* kind = &mutex->__data.__kind;
  // Other kinds than this one are recursive, robust or shared, or count who waits: they stay.
  if (__atomic_load_n(kind, __ATOMIC_RELAXED) == PTHREAD_MUTEX_TIMED_NP)
    __atomic_store_n(kind, PTHREAD_MUTEX_ADAPTIVE_NP, __ATOMIC_RELAXED);
  return real_lock(mutex);
}
