// A thread without the mutex signals another, while a third one has the mutex for 200 ms. Prints
// the ids of the waiting thread and of the holder.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <thread>

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
std::atomic<int> waiter_id{0}, holder_id{0};

int main() {
  std::thread waiter([] {
    pthread_mutex_lock(&mutex);
    waiter_id = gettid();
    pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
  });
  while (waiter_id == 0) usleep(1000);
  usleep(50'000);
  std::thread holder([] {
    pthread_mutex_lock(&mutex);
    holder_id = gettid();
    usleep(200'000);
    pthread_mutex_unlock(&mutex);
  });
  while (holder_id == 0) usleep(1000);
  pthread_cond_signal(&condition);
  waiter.join();
  holder.join();
  std::printf("%d %d\n", waiter_id.load(), holder_id.load());
  return 0;
}
