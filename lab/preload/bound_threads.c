// Binds each thread that the program makes to one processor, in turns over those that the process
// may use. The first thread stays free, so that what it starts may use all of them too.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

struct start {
  void* (*function)(void*);
  void* argument;
  int processor;
};

typedef int create_function(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

static create_function* real_create;
static cpu_set_t usable;
static unsigned made;

__attribute__((constructor)) static void begin(void) {
  *(void**)&real_create = dlsym(RTLD_NEXT, "pthread_create");
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) CPU_ZERO(&usable);
}

static int processor_of(unsigned number) {
  const unsigned count = CPU_COUNT(&usable);
  if (count == 0) return -1;
  unsigned left = number % count;
  for (int each = 0; each < CPU_SETSIZE; ++each)
    if (CPU_ISSET(each, &usable) && left-- == 0) return each;
  return -1;
}

static void* run(void* memory) {
  struct start start = *(struct start*)memory;
  free(memory);
  if (start.processor >= 0) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(start.processor, &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  return start.function(start.argument);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                   void* argument) {
  if (!real_create) begin();  // called from another library's constructor
  struct start* start = malloc(sizeof *start);
  if (!start) return EAGAIN;
  const unsigned number = __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
  *start = (struct start){function, argument, processor_of(number)};
  const int error = real_create(thread, attributes, run, start);
  if (error) free(start);
  return error;
}
