// Signal handlers that lock, post, wait and sleep, on their own small stack, while they interrupt
// threads that wait for locks and run through the agent.
#include <semaphore.h>

#include <atomic>

#include "odd.hpp"

namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, own = PTHREAD_MUTEX_INITIALIZER;
sem_t posted;
std::atomic<int> handled{0}, wrong{0};

void on_signal(int) {
  const int before = errno;
  // Only handlers take this mutex. A thread runs one of them at a time, but others may hold it.
  pthread_mutex_lock(&own);
  if (handled % 4 == 0) sleep_us(50);
  pthread_mutex_unlock(&own);
  if (sem_post(&posted) != 0) ++wrong;
  ++handled;
  errno = before;
}

}  // namespace

int main() {
  sem_init(&posted, 0, 0);
  struct sigaction action{};
  action.sa_handler = on_signal;
  action.sa_flags = SA_ONSTACK | SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
  std::atomic<bool> over{false};
  std::atomic<int> stacks{0};
  const auto work = [&] {
    static thread_local char room[16384];
    const stack_t stack{room, 0, sizeof room};
    stacks += sigaltstack(&stack, nullptr) == 0;
    while (!over) {
      pthread_mutex_lock(&mutex);
      sched_yield();
      errno = 55;
      pthread_mutex_unlock(&mutex);
      if (errno != 55) ++wrong;
    }
  };
  const pthread_t threads[] = {begin(work), begin(work), begin(work)};
  while (stacks < 3) sched_yield();
  constexpr int kSignals = 300;
  for (int i = 0; i < kSignals; ++i) {
    pthread_kill(threads[i % 3], SIGUSR1);
    while (sem_wait(&posted) != 0) {
    }
  }
  while (handled < kSignals) sched_yield();
  over = true;
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  int left = -1;
  sem_getvalue(&posted, &left);
  say("handled %d, wrong %d, posts left %d", handled.load(), wrong.load(), left);
}
