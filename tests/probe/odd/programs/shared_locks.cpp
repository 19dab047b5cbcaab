// Locks, conditions and semaphores that two processes share; owners that die with a robust mutex.
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "odd.hpp"

namespace {
struct Memory {
  pthread_mutex_t mutex, robust;
  pthread_cond_t condition;
  sem_t semaphore;
  int turn;
  long sum;
};
}  // namespace

int main() {
  auto* to = static_cast<Memory*>(
      mmap(nullptr, sizeof(Memory), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  pthread_mutexattr_t how;
  pthread_mutexattr_init(&how);
  pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(&to->mutex, &how);
  pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&to->robust, &how);
  pthread_condattr_t condition;
  pthread_condattr_init(&condition);
  pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
  pthread_cond_init(&to->condition, &condition);
  sem_init(&to->semaphore, 1, 0);
  const pid_t pid = fork();
  const int own = pid == 0 ? 1 : 0;
  for (int i = 0; i < 50; ++i) {
    pthread_mutex_lock(&to->mutex);
    while (to->turn != own) pthread_cond_wait(&to->condition, &to->mutex);
    to->sum = to->sum * 3 % 1'000'003 + own + 1;
    to->turn = 1 - own;
    pthread_cond_broadcast(&to->condition);
    pthread_mutex_unlock(&to->mutex);
  }
  if (pid == 0) {
    pthread_mutex_lock(&to->robust);
    sem_post(&to->semaphore);
    sleep_us(2'000);
    _exit(0);  // holds the robust mutex
  }
  while (sem_wait(&to->semaphore) != 0) {
  }
  const int died = pthread_mutex_lock(&to->robust);
  const int made = pthread_mutex_consistent(&to->robust);
  const int freed = pthread_mutex_unlock(&to->robust);
  wait(nullptr);
  const pthread_t thread = begin([&] { pthread_mutex_lock(&to->robust); });
  pthread_join(thread, nullptr);
  const int again = pthread_mutex_lock(&to->robust);
  pthread_mutex_unlock(&to->robust);
  say("sum %ld; of a process %s %d %d, of a thread %s, then %s", to->sum, name_of(died), made,
      freed, name_of(again), name_of(pthread_mutex_lock(&to->robust)));
}
