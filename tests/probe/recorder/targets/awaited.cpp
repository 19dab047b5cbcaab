// One thread holds an object for which another one waits, 150 ms for each kind. Prints the kind by
// the record's name, the waiting thread and the holder, or 0 if the holder is unknown.
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <thread>

namespace {

std::atomic<int> waiter_id{0}, holder_id{0};
pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_once_t once = PTHREAD_ONCE_INIT;
pthread_spinlock_t spin;
sem_t semaphore;

void hold() {
  holder_id = gettid();
  usleep(150'000);
}

int guarded() {
  static const int value = [] {
    hold();
    return 1;
  }();
  return value;
}

template <class Holding, class Waiting>
void show(const char* activity, bool known, Holding holding, Waiting waiting) {
  holder_id = 0;
  std::thread holder(holding);
  while (holder_id == 0) usleep(1000);
  std::thread waiter([&] {
    waiter_id = gettid();
    waiting();
  });
  holder.join();
  waiter.join();
  std::printf("%s %d %d\n", activity, waiter_id.load(), known ? holder_id.load() : 0);
}

template <int (*lock)(pthread_rwlock_t*)>
void locked() {
  lock(&rwlock);
  hold();
  pthread_rwlock_unlock(&rwlock);
}

template <int (*lock)(pthread_rwlock_t*)>
void briefly() {
  lock(&rwlock);
  pthread_rwlock_unlock(&rwlock);
}

void spinning() {
  pthread_spin_lock(&spin);
  hold();
  pthread_spin_unlock(&spin);
}

void spinning_briefly() {
  pthread_spin_lock(&spin);
  pthread_spin_unlock(&spin);
}

}  // namespace

int main() {
  pthread_spin_init(&spin, 0);
  sem_init(&semaphore, 0, 0);
  const auto lock = [] {
    pthread_mutex_lock(&mutex);
    hold();
    pthread_mutex_unlock(&mutex);
  };
  const auto lock_briefly = [] {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  };
  show("mutex", true, lock, lock_briefly);
  show("read_lock", true, locked<pthread_rwlock_wrlock>, briefly<pthread_rwlock_rdlock>);
  show("write_lock", true, locked<pthread_rwlock_wrlock>, briefly<pthread_rwlock_wrlock>);
  show("write_lock", false, locked<pthread_rwlock_rdlock>, briefly<pthread_rwlock_wrlock>);
  show("once", true, [] { pthread_once(&once, hold); }, [] { pthread_once(&once, hold); });
  show("once", true, [] { guarded(); }, [] { guarded(); });
  // The agent knows the holders of a spin lock from the first wait on.
  show("spin_lock", false, spinning, spinning_briefly);
  show("spin_lock", true, spinning, spinning_briefly);
  const auto post = [] {
    hold();
    sem_post(&semaphore);
  };
  show("semaphore", false, post, [] { sem_wait(&semaphore); });
  return 0;
}
