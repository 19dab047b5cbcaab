// build: thread
// cases: right, wrong
// A program under ThreadSanitizer, which precedes the same functions as the agent. ThreadSanitizer
// sees all locks and conditions, so it reports a race only if there is one.
#include <fcntl.h>
#include <semaphore.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "odd.hpp"

namespace {

std::mutex mutex;
std::condition_variable condition;
pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
sem_t semaphore;
long by_mutex = 0, by_rwlock = 0, by_semaphore = 0, by_nothing = 0;
bool go = false;
int reports = 0;

void work(bool wrong) {
  {
    std::unique_lock lock(mutex);
    condition.wait(lock, [] { return go; });
  }
  for (int i = 0; i < 200; ++i) {
    {
      const std::lock_guard lock(mutex);
      ++by_mutex;
      if (i % 20 == 0) sched_yield();
    }
    pthread_rwlock_wrlock(&rwlock);
    ++by_rwlock;
    pthread_rwlock_unlock(&rwlock);
    while (sem_wait(&semaphore) != 0) {
    }
    ++by_semaphore;
    sem_post(&semaphore);
  }
  if (wrong) ++by_nothing;
}

}  // namespace

extern "C" void __tsan_on_report(void*) { ++reports; }

int main(int, char** words) {
  const bool wrong = std::strcmp(words[1], "wrong") == 0;
  dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);  // reports contain addresses
  sem_init(&semaphore, 0, 1);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work, wrong);
  {
    const std::lock_guard lock(mutex);
    go = true;
  }
  condition.notify_all();
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 50; ++i) std::thread([] { std::lock_guard lock(mutex); }).join();
  say("counted %ld %ld %ld, a race was reported %d", by_mutex, by_rwlock, by_semaphore,
      reports > 0);
}
