// Refuses threads beyond THREADMARK_THREAD_CAP with EAGAIN, as the system does at its own limit.
// For machines where the lab may not write a pids control group. Threads that are alive count, so
// a program that makes many threads one after the other is not refused.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_long living = 1;  // the first thread

struct start {
  void* (*function)(void*);
  void* argument;
};

static void leave(void* unused) {
  (void)unused;
  atomic_fetch_sub(&living, 1);
}

// Also left by pthread_exit and cancellation, hence the cleanup handler.
static void* run(void* memory) {
  struct start start = *(struct start*)memory;
  free(memory);
  void* result = NULL;
  pthread_cleanup_push(leave, NULL);
  result = start.function(start.argument);
  pthread_cleanup_pop(1);
  return result;
}

typedef int create_function(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

static long cap = -1;  // none
static create_function* real_create;

__attribute__((constructor)) static void read_cap(void) {
  const char* text = getenv("THREADMARK_THREAD_CAP");
  if (text) cap = strtol(text, NULL, 10);
  *(void**)&real_create = dlsym(RTLD_NEXT, "pthread_create");
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                   void* argument) {
  if (!real_create) read_cap();  // called from another library's constructor
  if (atomic_fetch_add(&living, 1) >= cap && cap >= 0) {
    leave(NULL);
    return EAGAIN;
  }
  struct start* start = malloc(sizeof *start);
  if (!start) {
    leave(NULL);
    return EAGAIN;
  }
  *start = (struct start){function, argument};
  const int error = real_create(thread, attributes, run, start);
  if (error) {
    free(start);
    leave(NULL);
  }
  return error;
}
