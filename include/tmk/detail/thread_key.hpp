// A pthread key for an action at the end of a thread. The action runs after the destructors of all
// the thread's thread_locals, which may still use tmk.
#pragma once

#include <pthread.h>

#include <new>

namespace tmk::detail {

// The end of a thread calls `at_exit` with the thread's value for the key, unless that is null.
// bad_alloc.
inline pthread_key_t make_thread_key(void (*at_exit)(void*)) {
  pthread_key_t key;
  if (pthread_key_create(&key, at_exit) != 0) throw std::bad_alloc();
  return key;
}

}  // namespace tmk::detail
