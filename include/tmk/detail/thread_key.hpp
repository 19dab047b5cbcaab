// A pthread key, for what is to happen at the end of a thread: after the destructors of all its
// thread_locals, which may still use tmk.
#pragma once

#include <pthread.h>

#include <new>

namespace tmk::detail {

// `at_exit` is called with the value that the thread has for the key, unless it is null. bad_alloc.
inline pthread_key_t make_thread_key(void (*at_exit)(void*)) {
  pthread_key_t key;
  if (pthread_key_create(&key, at_exit) != 0) throw std::bad_alloc();
  return key;
}

}  // namespace tmk::detail
