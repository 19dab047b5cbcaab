// Threads with stacks of 16 KiB. The program itself uses half of each before it waits for locks,
// conditions, other threads and input.
#include <poll.h>

#include <atomic>

#include "odd.hpp"

namespace {

std::atomic<long> done{0};

[[gnu::noinline]] void use(std::size_t bytes, void (*then)()) {
  auto* room = static_cast<char*>(__builtin_alloca(bytes));
  std::memset(room, 1, bytes);
  asm volatile("" : : "r"(room) : "memory");
  then();
  if (room[0] == 1) ++done;
}

void waits() {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  for (int i = 0; i < 50; ++i) {
    pthread_mutex_lock(&mutex);
    sched_yield();
    if (i % 10 == 0) {
      timespec until{};
      clock_gettime(CLOCK_REALTIME, &until);
      pthread_cond_timedwait(&condition, &mutex, &until);
    }
    pthread_mutex_unlock(&mutex);
    pthread_cond_signal(&condition);
  }
  pollfd none{-1, 0, 0};
  poll(&none, 1, 1);
  sleep_us(100);
}

}  // namespace

int main() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  say("16 KiB: %d", pthread_attr_setstacksize(&attributes, 16384));
  pthread_t threads[40];
  for (pthread_t& thread : threads) thread = begin([] { use(8192, waits); }, &attributes);
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  say("done %ld, counted %ld", done.load(), contend(16, 50, &attributes));
}
