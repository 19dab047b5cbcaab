// Leaves every thread on all processors that the process was started with: what the program asks
// for succeeds, and does nothing.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>

int sched_setaffinity(pid_t process, size_t size, const cpu_set_t* set) {
  (void)process, (void)size, (void)set;
  return 0;
}

int pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t* set) {
  (void)thread, (void)size, (void)set;
  return 0;
}

int pthread_attr_setaffinity_np(pthread_attr_t* attributes, size_t size, const cpu_set_t* set) {
  (void)attributes, (void)size, (void)set;
  return 0;
}
