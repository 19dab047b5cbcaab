// The work of the threads in the host: all wrapped functions, at the same time. It is a library,
// because the agent leaves out frames of its own file, and that file is the host's.
#include <dlfcn.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
pthread_spinlock_t spin;
pthread_barrier_t barrier;
sem_t semaphore;
std::atomic<int> word{0};
long count = 0, read_sum = 0;
int pipes[2];
constexpr int kThreads = 4, kRounds = 150;

void pause_us(long us) {
  const timespec time{0, us * 1'000};
  nanosleep(&time, nullptr);
}

void check(bool good) {
  if (!good) std::abort();
}

int slow() {
  pause_us(20'000);
  return 1;
}

int made() {
  static const int value = slow();
  return value;
}

void wait_for_word(int value) {
  for (int now = word; now < value; now = word)
    syscall(SYS_futex, &word, FUTEX_WAIT, now, nullptr, nullptr, 0);
}

// Long enough for the agent to take the thread's stack, which needs memory of this thread.
void* brief(void* given) {
  pause_us(100);
  return given;
}

void* all(void* given) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  const auto own = reinterpret_cast<std::uintptr_t>(given);
  pthread_barrier_wait(&barrier);
  pthread_once(&once, [] { pause_us(20'000); });
  check(made() == 1);
  for (int i = 0; i < kRounds; ++i) {
    pthread_mutex_lock(&mutex);
    ++count;
    if (i % 8 == 0) pause_us(100);
    if (own == 0) pthread_cond_broadcast(&condition);
    if (own == 1 && i % 16 == 0) {
      timespec until{};
      clock_gettime(CLOCK_REALTIME, &until);
      until.tv_nsec = until.tv_nsec / 2 + 1'000'000;
      pthread_cond_timedwait(&condition, &mutex, &until);
    }
    pthread_mutex_unlock(&mutex);
    if (own % 2 == 0) {
      pthread_rwlock_wrlock(&rwlock);
      ++read_sum;
      if (i % 8 == 0) pause_us(100);
    } else {
      pthread_rwlock_rdlock(&rwlock);
      check(read_sum >= 0);
    }
    pthread_rwlock_unlock(&rwlock);
    pthread_spin_lock(&spin);
    if (i % 8 == 0) sched_yield();
    pthread_spin_unlock(&spin);
    while (sem_wait(&semaphore) != 0) {
    }
    if (i % 8 == 0) pause_us(50);
    sem_post(&semaphore);
    if (own == 0) {
      if (i % 8 == 0) pause_us(200);
      word = i + 1;
      syscall(SYS_futex, &word, FUTEX_WAKE, kThreads, nullptr, nullptr, 0);
    } else {
      wait_for_word(i + 1);
    }
    // Nothing orders the end of a detached thread before the beginning of another, but the agent
    // gives the memory of the first to the second.
    pthread_t made, left;
    check(pthread_create(&left, nullptr, brief, nullptr) == 0 && pthread_detach(left) == 0);
    check(pthread_create(&made, nullptr, brief, nullptr) == 0);
    char byte = 'x';
    check(write(pipes[1], &byte, 1) == 1 && read(pipes[0], &byte, 1) == 1);
    pollfd file{pipes[0], POLLIN, 0};
    poll(&file, 1, 0);
    check(pthread_join(made, nullptr) == 0);
    pthread_barrier_wait(&barrier);
  }
  return nullptr;
}

void* load_and_unload(void* given) {
  for (int i = 0; i < 30; ++i) {
    void* handle = dlopen(static_cast<const char*>(given), RTLD_NOW);
    check(handle != nullptr);
    // The stacks of these waits lead through the library that comes and goes.
    auto* some = reinterpret_cast<int (*)(int, void (*)(long))>(dlsym(handle, "some"));
    check(some(i, pause_us) == i + 1);
    dlclose(handle);
    pause_us(5'000);
  }
  return nullptr;
}

}  // namespace

extern "C" void work(const char* plugin) {
  pthread_spin_init(&spin, 0);
  pthread_barrier_init(&barrier, nullptr, kThreads);
  sem_init(&semaphore, 0, 1);
  check(pipe(pipes) == 0);
  // A handler that takes a lock of its own, while the threads run through the agent.
  struct sigaction action{};
  action.sa_handler = [](int) {
    static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    if (pthread_mutex_trylock(&own) == 0) pthread_mutex_unlock(&own);
  };
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
  pthread_t threads[kThreads], loader;
  for (std::uintptr_t i = 0; i < kThreads; ++i)
    check(pthread_create(&threads[i], nullptr, all, reinterpret_cast<void*>(i)) == 0);
  check(pthread_create(&loader, nullptr, load_and_unload, const_cast<char*>(plugin)) == 0);
  for (int i = 0; i < 50; ++i) {
    pthread_kill(threads[0], SIGUSR1);
    pause_us(500);
  }
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  pthread_join(loader, nullptr);
  check(count == kThreads * kRounds);
}
