// Checks mutexes under the library of queueing mutexes. Prints "ok" if all checks pass, else the
// sentence of the check that failed.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""us;

static void must(bool holds, const char* what) {
  if (holds) return;
  std::printf("not so: %s\n", what);
  std::fflush(stdout);
  std::_Exit(1);
}

template <typename Function>
static void in_threads(int count, Function function) {
  std::vector<std::thread> all;
  for (int i = 0; i < count; ++i) all.emplace_back([=] { function(i); });
  for (std::thread& each : all) each.join();
}

static void excludes() {
  static std::mutex mutex;
  static long sum = 0, inside = 0;
  in_threads(6, [](int) {
    for (int i = 0; i < 1500; ++i) {
      errno = 77;
      if (i % 16 == 3) {
        if (!mutex.try_lock()) continue;
      } else {
        mutex.lock();
      }
      must(errno == 77, "errno stays");
      must(++inside == 1, "one thread at a time");
      if (i % 64 == 0) std::this_thread::sleep_for(20us);  // so that others sleep
      ++sum;
      --inside;
      mutex.unlock();
    }
  });
  must(sum > 6 * 1400, "each lock is had");
}

// Three threads wait for a mutex; the thread that frees it locks it again. Whether that thread came
// last: it passes waiters if it loses its processor until the first one has had the mutex.
static bool comes_last() {
  static std::mutex mutex;
  std::vector<int> order;
  mutex.lock();
  std::vector<std::thread> all;
  for (int i = 0; i < 3; ++i) {
    all.emplace_back([i, &order] {
      std::lock_guard<std::mutex> held(mutex);
      order.push_back(i);
    });
    std::this_thread::sleep_for(100ms);
  }
  mutex.unlock();
  mutex.lock();
  order.push_back(3);
  mutex.unlock();
  for (std::thread& each : all) each.join();
  must(order.front() == 0, "the first waiter comes before the thread that freed the mutex");
  const bool last = order.back() == 3;
  order.erase(std::find(order.begin(), order.end(), 3));
  must(order == std::vector<int>{0, 1, 2}, "the waiters have the order of their coming");
  return last;
}

static void comes_in_turn() {
  for (int tries = 0; tries < 5; ++tries)
    if (comes_last()) return;
  must(false, "the thread that freed the mutex comes last");
}

static void conditions() {
  static std::mutex mutex;
  static std::condition_variable changed;
  static int full = 0;
  in_threads(4, [](int i) {
    for (int round = 0; round < 2000; ++round) {
      std::unique_lock<std::mutex> held(mutex);
      changed.wait(held, [&] { return full % 2 == i % 2; });
      ++full;
      changed.notify_all();
    }
  });
  must(full == 8000, "each turn is had");
  std::unique_lock<std::mutex> held(mutex);
  must(changed.wait_for(held, 5ms) == std::cv_status::timeout, "a time limit ends a wait");
}

static int locked_again(int kind) {
  pthread_mutexattr_t how;
  pthread_mutexattr_init(&how);
  pthread_mutexattr_settype(&how, kind);
  pthread_mutex_t mutex;
  pthread_mutex_init(&mutex, &how);
  pthread_mutex_lock(&mutex);
  const int answer = pthread_mutex_lock(&mutex);
  return answer;
}

static void other_kinds() {
  must(locked_again(PTHREAD_MUTEX_RECURSIVE) == 0, "a recursive mutex is locked twice");
  must(locked_again(PTHREAD_MUTEX_ERRORCHECK) == EDEADLK, "a checking mutex is not");
  pthread_mutexattr_t how;
  pthread_mutexattr_init(&how);
  pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
  static pthread_mutex_t robust;
  pthread_mutex_init(&robust, &how);
  std::thread([] { pthread_mutex_lock(&robust); }).join();
  must(pthread_mutex_lock(&robust) == EOWNERDEAD, "a robust mutex says that its owner died");
  static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&plain);
  std::thread([] {
    must(pthread_mutex_trylock(&plain) == EBUSY, "a try is refused");
    timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    must(pthread_mutex_timedlock(&plain, &until) == ETIMEDOUT, "a time limit ends a lock");
  }).join();
  pthread_mutex_unlock(&plain);
}

// The last of two that lock a mutex destroys it.
static void is_destroyed() {
  struct Shared {
    std::mutex mutex;
    int users = 2;
  };
  static std::atomic<Shared*> now;
  static std::atomic<int> arrived, done;
  in_threads(2, [](int i) {
    for (int round = 0; round < 1000; ++round) {
      if (i == 0) now = new Shared;
      ++arrived;
      while (arrived < 2 * (round + 1)) std::this_thread::yield();
      Shared* shared = now;
      shared->mutex.lock();
      const bool last = --shared->users == 0;
      shared->mutex.unlock();
      if (last) delete shared;
      ++done;
      while (done < 2 * (round + 1)) std::this_thread::yield();
    }
  });
}

// A process forks while two threads wait. The child does not have these threads.
static void forks() {
  static std::mutex mutex;
  mutex.lock();
  std::thread one([] { std::lock_guard<std::mutex> held(mutex); });
  std::thread two([] { std::lock_guard<std::mutex> held(mutex); });
  std::this_thread::sleep_for(100ms);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    mutex.unlock();
    static long sum = 0;
    in_threads(3, [](int) {
      for (int i = 0; i < 2000; ++i) {
        std::lock_guard<std::mutex> held(mutex);
        ++sum;
      }
    });
    std::_Exit(sum == 6000 ? 0 : 1);
  }
  mutex.unlock();
  one.join();
  two.join();
  int status = -1;
  must(waitpid(child, &status, 0) == child && status == 0, "a child of a fork goes on");
}

int main() {
  excludes();
  comes_in_turn();
  conditions();
  other_kinds();
  is_destroyed();
  forks();
  std::puts("ok");
}
