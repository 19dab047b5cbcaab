// Threads, mutexes and conditions of C11, which call one another inside the C library.
#include <threads.h>

#include "odd.hpp"

namespace {
mtx_t mutex;
cnd_t condition;
once_flag once = ONCE_FLAG_INIT;
int turn = 0, inits = 0;
}  // namespace

int main() {
  mtx_init(&mutex, mtx_timed);
  cnd_init(&condition);
  thrd_t threads[3];
  for (std::intptr_t i = 0; i < 3; ++i)
    thrd_create(
        &threads[i],
        [](void* given) -> int {
          const auto own = static_cast<int>(reinterpret_cast<std::intptr_t>(given));
          call_once(&once, [] { ++inits; });
          for (int j = 0; j < 30; ++j) {
            mtx_lock(&mutex);
            while (turn % 3 != own) cnd_wait(&condition, &mutex);
            ++turn;
            cnd_broadcast(&condition);
            mtx_unlock(&mutex);
            thrd_yield();
          }
          return own + 10;
        },
        reinterpret_cast<void*>(i));
  int sum = 0;
  for (const thrd_t thread : threads) {
    int result = 0;
    thrd_join(thread, &result);
    sum += result;
  }
  mtx_lock(&mutex);
  timespec until{};
  timespec_get(&until, TIME_UTC);
  until.tv_nsec = until.tv_nsec / 2 + 1;
  const int busy = mtx_trylock(&mutex), late = cnd_timedwait(&condition, &mutex, &until);
  say("turn %d, inits %d, results %d, busy %d, late %d", turn, inits, sum, busy == thrd_busy,
      late == thrd_timedout);
}
