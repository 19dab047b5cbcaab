// A thread that finds a mutex taken tries again for some tens of microseconds before it sleeps.
#include "patience.h"

int pthread_mutex_lock(pthread_mutex_t* mutex) {
  find();
  return is_plain(mutex) && try_patiently(mutex) ? 0 : real_lock(mutex);
}
