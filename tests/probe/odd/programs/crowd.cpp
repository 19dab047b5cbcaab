// 5,000 threads at once, which begin together and then wait for one another.
#include <atomic>
#include <vector>

#include "odd.hpp"

int main() {
  constexpr int kThreads = 5'000;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 32768);
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  int there = 0;
  bool go = false;
  std::atomic<int> sum{0};
  std::vector<pthread_t> threads(kThreads);
  for (pthread_t& thread : threads)
    thread = begin(
        [&] {
          pthread_mutex_lock(&mutex);
          if (++there == kThreads) pthread_cond_broadcast(&condition);
          while (!go) pthread_cond_wait(&condition, &mutex);
          pthread_mutex_unlock(&mutex);
          ++sum;
        },
        &attributes);
  pthread_mutex_lock(&mutex);
  while (there < kThreads) pthread_cond_wait(&condition, &mutex);
  go = true;
  pthread_cond_broadcast(&condition);
  pthread_mutex_unlock(&mutex);
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  say("at once %d, ended %d", there, sum.load());
}
