/* build: musl
   Threads that wait, in a program of another C library, which cannot load the agent. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern char** environ;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long count;

static void* work(void* argument) {
  const struct timespec time = {0, 50000};
  int i;
  for (i = 0; i < 100; ++i) {
    pthread_mutex_lock(&mutex);
    ++count;
    if (i % 20 == 0) nanosleep(&time, NULL);
    pthread_mutex_unlock(&mutex);
  }
  return argument;
}

int main(void) {
  pthread_t threads[4];
  char** at;
  int i;
  for (i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  for (at = environ; *at != NULL; ++at) puts(*at);
  printf("counted %ld\n", count);
  return 4;
}
