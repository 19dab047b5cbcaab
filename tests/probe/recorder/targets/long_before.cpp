// Computes and waits for a lock, beside a thread that only waits, and prints a line at half time. A
// recording that begins then must leave out the first half.
#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <thread>

using Clock = std::chrono::steady_clock;

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t of_condition = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
bool over = false;

int main() {
  const auto end = Clock::now() + std::chrono::milliseconds(2000);
  const auto work = [&] {
    while (Clock::now() < end) {
      pthread_mutex_lock(&mutex);
      const auto until = Clock::now() + std::chrono::milliseconds(1);
      while (Clock::now() < until) {
      }
      pthread_mutex_unlock(&mutex);
    }
  };
  std::thread one(work), other(work), idle([&] {
    pthread_mutex_lock(&of_condition);
    while (!over) pthread_cond_wait(&condition, &of_condition);
    pthread_mutex_unlock(&of_condition);
  });
  one.join();
  other.join();
  pthread_mutex_lock(&of_condition);
  over = true;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&of_condition);
  idle.join();
  return 0;
}
