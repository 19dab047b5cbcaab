// Threads that wait for a mutex queue: one at a time asks for it, and who waits for too long comes
// before all others. See queueing_mutex.md for the protocol.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "patience.h"

enum { address_bits = 48, insists = 1 };
enum turn { waits, sleeps, first };

struct place {
  struct place* next;
  int turn;
};

static uint16_t generation;  // grows in a child, which has none of the threads that waited

static void forked(void) { ++generation; }

__attribute__((constructor)) static void begin(void) { pthread_atfork(NULL, NULL, forked); }

#if defined(__LP64__)
static uint64_t* tail_of(pthread_mutex_t* mutex) { return (uint64_t*)&mutex->__data.__list.__prev; }

static uint64_t named(const struct place* place) {
  return (uint64_t)generation << address_bits | (uint64_t)(uintptr_t)place;
}

// NULL for no place, and for one of a thread that a fork left behind.
static struct place* place_of(uint64_t word) {
  if (word >> address_bits != generation) return NULL;
  return (struct place*)(uintptr_t)(word & ((UINT64_C(1) << address_bits) - 1) & ~insists);
}

// Callers of pthread_mutex_lock rely on their errno.
static void futex(int* word, int operation, int value) {
  const int before = errno;
  syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
  errno = before;
}

static void await(struct place* own) {
  for (int i = 0; i < pauses; ++i) {
    if (__atomic_load_n(&own->turn, __ATOMIC_SEQ_CST) == first) return;
    rest();
  }
  int expected = waits;
  if (!__atomic_compare_exchange_n(&own->turn, &expected, sleeps, 0, __ATOMIC_SEQ_CST,
                                   __ATOMIC_SEQ_CST))
    return;
  while (__atomic_load_n(&own->turn, __ATOMIC_SEQ_CST) == sleeps)
    futex(&own->turn, FUTEX_WAIT_PRIVATE, sleeps);
}

// Whoever comes now finds that it must queue, or takes the mutex beside the queue.
static int may_pass(uint64_t word) { return !place_of(word) || !(word & insists); }

static struct place* append(uint64_t* tail, struct place* own) {
  uint64_t before = __atomic_load_n(tail, __ATOMIC_SEQ_CST);
  uint64_t after;
  do {
    after = named(own) | (place_of(before) ? before & insists : 0);
  } while (
      !__atomic_compare_exchange_n(tail, &before, after, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  return place_of(before);
}

static int take(pthread_mutex_t* mutex, uint64_t* tail) {
  if (try_patiently(mutex)) return 0;
  __atomic_fetch_or(tail, insists, __ATOMIC_SEQ_CST);
  const int error = real_lock(mutex);
  __atomic_fetch_and(tail, ~(uint64_t)insists, __ATOMIC_SEQ_CST);
  return error;
}

static void hand_on(uint64_t* tail, struct place* own) {
  struct place* next = __atomic_load_n(&own->next, __ATOMIC_SEQ_CST);
  if (!next) {
    uint64_t last = named(own);
    if (__atomic_compare_exchange_n(tail, &last, 0, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return;
    // Somebody is between two instructions, unless it lost its processor there.
    for (int i = 1; !(next = __atomic_load_n(&own->next, __ATOMIC_SEQ_CST)); ++i) {
      rest();
      if (i % pauses == 0) sched_yield();
    }
  }
  if (__atomic_exchange_n(&next->turn, first, __ATOMIC_SEQ_CST) == sleeps)
    futex(&next->turn, FUTEX_WAKE_PRIVATE, 1);
}

int pthread_mutex_lock(pthread_mutex_t* mutex) {
  find();
  if (!is_plain(mutex)) return real_lock(mutex);
  uint64_t* tail = tail_of(mutex);
  if (may_pass(__atomic_load_n(tail, __ATOMIC_SEQ_CST)) && real_try(mutex) == 0) return 0;
  struct place own = {NULL, waits};
  if ((uintptr_t)&own >> address_bits) return real_lock(mutex);  // a stack of five-level paging
  struct place* before = append(tail, &own);
  if (before) {
    __atomic_store_n(&before->next, &own, __ATOMIC_SEQ_CST);
    await(&own);
  }
  const int error = take(mutex, tail);
  hand_on(tail, &own);
  return error;
}
#else
int pthread_mutex_lock(pthread_mutex_t* mutex) {
  find();  // the mutex has no room for a queue
  return real_lock(mutex);
}
#endif
