// A program with threads that wait in ways that the tests know. `target NAME` runs one of them. Its
// output and its exit status must be the same with the agent and without it.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <future>
#include <latch>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

extern char** environ;

extern std::atomic<void (*)()> early_job;  // in early_library.cpp
void join_early();
extern void* early_plugin;

namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""us;

#define KEPT extern "C" [[gnu::noinline, gnu::used]]
#define NOT_A_TAIL asm volatile("" ::: "memory")

void busy_for(std::chrono::nanoseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

int check(bool right, const char* what) {
  if (!right) std::printf("wrong: %s\n", what);
  return right ? 0 : 1;
}

}  // namespace

// --- Waits that are known beforehand.

std::mutex known_mutex;
std::atomic<bool> known_held{false};

KEPT void hold_it() {
  std::lock_guard lock(known_mutex);
  known_held = true;
  std::this_thread::sleep_for(100ms);
  known_held = false;
}
KEPT void holder_outer() {
  hold_it();
  NOT_A_TAIL;
}
KEPT void wait_for_it() {
  std::lock_guard lock(known_mutex);
  NOT_A_TAIL;
}
KEPT void waiter_outer() {
  wait_for_it();
  NOT_A_TAIL;
}

int known_waits() {
  for (int i = 0; i < 5; ++i) {
    std::thread holder([] { holder_outer(); });
    while (!known_held) std::this_thread::yield();
    std::thread waiter([] { waiter_outer(); });
    holder.join();
    waiter.join();
  }
  std::puts("five waits");
  return 0;
}

pthread_rwlock_t known_rwlock = PTHREAD_RWLOCK_INITIALIZER;
sem_t known_semaphore;
pthread_barrier_t known_barrier;
std::condition_variable known_condition;
bool known_ready = false;
pthread_spinlock_t known_spin;
pthread_once_t known_once = PTHREAD_ONCE_INIT;
std::atomic<int> known_word{0};

KEPT void wait_reading() {
  pthread_rwlock_rdlock(&known_rwlock);
  pthread_rwlock_unlock(&known_rwlock);
}
KEPT void wait_writing() {
  pthread_rwlock_wrlock(&known_rwlock);
  pthread_rwlock_unlock(&known_rwlock);
}
KEPT void wait_semaphore() {
  sem_wait(&known_semaphore);
  NOT_A_TAIL;
}
KEPT void wait_barrier() {
  pthread_barrier_wait(&known_barrier);
  NOT_A_TAIL;
}
KEPT void wait_condition() {
  std::unique_lock lock(known_mutex);
  known_condition.wait(lock, [] { return known_ready; });
}
KEPT void wait_timed() {
  std::unique_lock lock(known_mutex);
  std::condition_variable never;
  never.wait_for(lock, 60ms);
}
KEPT void signal_it() {
  {
    std::lock_guard lock(known_mutex);
    known_ready = true;
  }
  known_condition.notify_one();
  NOT_A_TAIL;
}
KEPT void wait_spin() {
  pthread_spin_lock(&known_spin);
  pthread_spin_unlock(&known_spin);
}
KEPT void wait_once() {
  pthread_once(&known_once, [] { std::this_thread::sleep_for(60ms); });
  NOT_A_TAIL;
}
KEPT void run_once() {
  wait_once();
  NOT_A_TAIL;
}
KEPT int wait_guard() {
  static const int value = [] {
    std::this_thread::sleep_for(60ms);
    return 7;
  }();
  return value;
}
KEPT void run_guard() {
  wait_guard();
  NOT_A_TAIL;
}
KEPT void wait_word() {
  known_word.wait(0);
  NOT_A_TAIL;
}

KEPT void make_objects() {
  sem_init(&known_semaphore, 0, 0);
  pthread_barrier_init(&known_barrier, nullptr, 2);
  NOT_A_TAIL;
}

bool sleeps(pid_t thread) {
  std::ifstream stat("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string line;
  std::getline(stat, line);
  return line.find(") S ") != std::string::npos;
}

int all_kinds() {
  make_objects();
  pthread_spin_init(&known_spin, 0);
  const auto after = [](auto wait, auto free) {
    std::atomic<bool> begun{false};  // a thread may begin late on a busy machine
    std::thread thread([&] {
      begun = true;
      wait();
    });
    while (!begun) std::this_thread::yield();
    std::this_thread::sleep_for(60ms);
    free();
    thread.join();
  };
  pthread_rwlock_wrlock(&known_rwlock);
  after(wait_reading, [] { pthread_rwlock_unlock(&known_rwlock); });
  pthread_rwlock_rdlock(&known_rwlock);
  after(wait_writing, [] { pthread_rwlock_unlock(&known_rwlock); });
  after(wait_semaphore, [] { sem_post(&known_semaphore); });
  after(wait_barrier, [] { pthread_barrier_wait(&known_barrier); });
  after(wait_condition, signal_it);
  after(wait_timed, [] {});
  pthread_spin_lock(&known_spin);
  after(wait_spin, [] { pthread_spin_unlock(&known_spin); });
  std::thread first(run_once);
  std::this_thread::sleep_for(5ms);
  std::thread second(wait_once);
  first.join();
  second.join();
  std::thread third(run_guard);
  std::this_thread::sleep_for(5ms);
  std::thread fourth(wait_guard);
  third.join();
  fourth.join();
  std::atomic<pid_t> waiter{0};
  std::thread word([&] {
    waiter = gettid();
    wait_word();
  });
  // The library yields some times before it sleeps, and other programs may keep the processor.
  while (waiter == 0 || !sleeps(waiter)) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(60ms);
  known_word = 1;
  known_word.notify_all();
  word.join();
  int pipes[2];
  if (pipe(pipes) != 0) return 1;
  char byte = 0;
  std::atomic<bool> begun{false};
  std::thread reader([&] {
    begun = true;
    byte = read(pipes[0], &byte, 1) == 1 ? byte : 'x';
  });
  while (!begun) std::this_thread::yield();
  std::this_thread::sleep_for(60ms);
  const bool written = write(pipes[1], "k", 1) == 1;
  reader.join();
  std::printf("all kinds %c %d %d\n", byte, written, wait_guard());
  return 0;
}

// --- Conditions.

pthread_mutex_t condition_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t futile_condition = PTHREAD_COND_INITIALIZER;
int entered = 0, futile_waits = 0;

// Waits like a waiter of a program. The agent must find the number that the program counts.
void wait_until(const bool& ready, bool timed) {
  timespec far{};
  clock_gettime(CLOCK_REALTIME, &far);
  far.tv_sec += 100;
  for (bool again = false; !ready; again = true) {
    if (again) ++futile_waits;
    ++entered;
    if (timed)
      pthread_cond_timedwait(&futile_condition, &condition_mutex, &far);
    else
      pthread_cond_wait(&futile_condition, &condition_mutex);
  }
}

// Wakes the thread only when it waits; as one of all waiters if it is ready.
void wake(int times, int before, bool last, bool& ready) {
  for (int i = 0; i < times; ++i) {
    const bool ends = last && i + 1 == times;
    for (bool inside = false; !inside; sched_yield()) {
      pthread_mutex_lock(&condition_mutex);
      inside = entered == before + i + 1;
      if (inside && ends) ready = true;
      pthread_mutex_unlock(&condition_mutex);
    }
    (ends ? pthread_cond_broadcast : pthread_cond_signal)(&futile_condition);
  }
}

// Futile waits: seven, and three with a limit. Not futile: waits with an unlock in between, waits
// after which the thread works with the mutex locked, and waits that end by time.
int futile() {
  bool ready = false, ready_timed = false, never = false;
  std::thread waiter([&] {
    pthread_mutex_lock(&condition_mutex);
    wait_until(ready, false);
    pthread_mutex_unlock(&condition_mutex);
    pthread_mutex_lock(&condition_mutex);
    wait_until(ready_timed, true);
    pthread_mutex_unlock(&condition_mutex);
    for (int i = 0; i < 5; ++i) {
      pthread_mutex_lock(&condition_mutex);
      ++entered;
      pthread_cond_wait(&futile_condition, &condition_mutex);
      pthread_mutex_unlock(&condition_mutex);
    }
    pthread_mutex_lock(&condition_mutex);
    for (int i = 0; i < 4; ++i) {
      ++entered;
      pthread_cond_wait(&futile_condition, &condition_mutex);
      busy_for(50us);
    }
    for (int i = 0; i < 4; ++i) {
      timespec soon{};
      clock_gettime(CLOCK_REALTIME, &soon);
      soon.tv_nsec = (soon.tv_nsec + 2'000'000) % 1'000'000'000;
      if (soon.tv_nsec < 2'000'000) ++soon.tv_sec;
      pthread_cond_timedwait(&futile_condition, &condition_mutex, &soon);
    }
    pthread_mutex_unlock(&condition_mutex);
  });
  wake(8, 0, true, ready);
  wake(4, 8, true, ready_timed);
  wake(5, 12, false, never);
  wake(4, 17, false, never);
  waiter.join();
  std::printf("futile %d\n", futile_waits);
  return 0;
}

pthread_mutex_t convoy_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t convoy_condition = PTHREAD_COND_INITIALIZER;
std::atomic<bool> convoy_waits{false}, convoy_held{false};

KEPT void convoy_waiter() {
  pthread_mutex_lock(&convoy_mutex);
  convoy_waits = true;
  pthread_cond_wait(&convoy_condition, &convoy_mutex);
  pthread_mutex_unlock(&convoy_mutex);
  NOT_A_TAIL;
}
KEPT void convoy_holder() {
  pthread_mutex_lock(&convoy_mutex);
  convoy_held = true;
  std::this_thread::sleep_for(60ms);
  pthread_mutex_unlock(&convoy_mutex);
  NOT_A_TAIL;
}
KEPT void convoy_signal() {
  pthread_cond_signal(&convoy_condition);
  NOT_A_TAIL;
}

// A thread without the mutex wakes another, while a third thread holds the mutex for long.
int convoy() {
  for (int i = 0; i < 6; ++i) {
    convoy_waits = convoy_held = false;
    std::thread waiter([] { convoy_waiter(); });
    while (!convoy_waits) sched_yield();
    usleep(10'000);  // the thread waits, so only the wake makes it find the mutex busy
    std::thread holder([] { convoy_holder(); });
    while (!convoy_held) sched_yield();
    convoy_signal();
    waiter.join();
    holder.join();
  }
  std::puts("convoy");
  return 0;
}

// --- Output with a lock that others wait for.

pthread_mutex_t output_mutex = PTHREAD_MUTEX_INITIALIZER;
int null_file = -1;

KEPT void write_shortly() {
  for (int i = 0; i < 20; ++i)
    if (write(null_file, "x", 1) != 1) std::abort();
  NOT_A_TAIL;
}
KEPT void write_with_lock() {
  pthread_mutex_lock(&output_mutex);
  write_shortly();
  busy_for(20us);
  pthread_mutex_unlock(&output_mutex);
}
KEPT void write_without_lock() {
  write_shortly();
  NOT_A_TAIL;
}

// The calls are too short for an entry of their own.
int short_output() {
  null_file = open("/dev/null", O_WRONLY);
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([] {
      for (int j = 0; j < 3'000; ++j) {
        write_with_lock();
        write_without_lock();
      }
    });
  for (std::thread& thread : threads) thread.join();
  std::puts("short output");
  return 0;
}

// --- Odd programs. Each checks itself.

int cancelled_waits() {
  static std::mutex mutex;
  static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
  static sem_t semaphore;
  static std::atomic<int> cleaned{0};
  sem_init(&semaphore, 0, 0);
  int wrong = 0;
  for (int i = 0; i < 20; ++i) {
    pthread_t waiting, posting;
    const auto on_condition = [](void*) -> void* {
      pthread_mutex_lock(&plain);
      pthread_cleanup_push(
          [](void*) {
            ++cleaned;
            pthread_mutex_unlock(&plain);
          },
          nullptr);
      pthread_cond_wait(&condition, &plain);
      pthread_cleanup_pop(1);
      return nullptr;
    };
    pthread_create(&waiting, nullptr, on_condition, nullptr);
    pthread_create(
        &posting, nullptr,
        [](void*) -> void* {
          sem_wait(&semaphore);
          return nullptr;
        },
        nullptr);
    usleep(2000);
    pthread_cancel(waiting);
    pthread_cancel(posting);
    void* result = nullptr;
    pthread_join(waiting, &result);
    wrong += check(result == PTHREAD_CANCELED, "condition cancelled");
    pthread_join(posting, &result);
    wrong += check(result == PTHREAD_CANCELED, "semaphore cancelled");
    wrong += check(pthread_mutex_trylock(&plain) == 0, "mutex free after cleanup");
    pthread_mutex_unlock(&plain);
  }
  // A free semaphore is a place of cancellation too.
  pthread_t polling;
  static sem_t full;
  sem_init(&full, 0, 1);
  pthread_create(
      &polling, nullptr,
      [](void*) -> void* {
        for (;;) {
          sem_wait(&full);
          sem_post(&full);
        }
      },
      nullptr);
  usleep(1000);
  pthread_cancel(polling);
  pthread_join(polling, nullptr);
  std::printf("cleaned %d wrong %d\n", cleaned.load(), wrong);
  return wrong;
}

int kinds_of_mutexes() {
  int wrong = 0;
  for (const int type : {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK}) {
    for (const int protocol : {PTHREAD_PRIO_NONE, PTHREAD_PRIO_INHERIT}) {
      for (const int robust : {PTHREAD_MUTEX_STALLED, PTHREAD_MUTEX_ROBUST}) {
        for (const int shared : {PTHREAD_PROCESS_PRIVATE, PTHREAD_PROCESS_SHARED}) {
          pthread_mutexattr_t attributes;
          pthread_mutexattr_init(&attributes);
          pthread_mutexattr_settype(&attributes, type);
          pthread_mutexattr_setprotocol(&attributes, protocol);
          pthread_mutexattr_setrobust(&attributes, robust);
          pthread_mutexattr_setpshared(&attributes, shared);
          pthread_mutex_t mutex;
          if (pthread_mutex_init(&mutex, &attributes) != 0) continue;
          errno = 77;
          wrong += check(pthread_mutex_lock(&mutex) == 0, "lock");
          if (type == PTHREAD_MUTEX_ERRORCHECK)
            wrong += check(pthread_mutex_lock(&mutex) == EDEADLK, "deadlock found");
          if (type == PTHREAD_MUTEX_RECURSIVE) {
            wrong += check(pthread_mutex_lock(&mutex) == 0, "lock again");
            wrong += check(pthread_mutex_unlock(&mutex) == 0, "unlock once");
          }
          std::thread other([&] {
            timespec until;
            clock_gettime(CLOCK_REALTIME, &until);
            until.tv_nsec += 2'000'000;
            if (until.tv_nsec >= 1'000'000'000) {
              until.tv_nsec -= 1'000'000'000;
              ++until.tv_sec;
            }
            wrong += check(pthread_mutex_timedlock(&mutex, &until) == ETIMEDOUT, "timed out");
            if (type == PTHREAD_MUTEX_ERRORCHECK)
              wrong += check(pthread_mutex_unlock(&mutex) == EPERM, "not the owner");
          });
          other.join();
          wrong += check(pthread_mutex_unlock(&mutex) == 0, "unlock");
          if (robust == PTHREAD_MUTEX_ROBUST) {
            std::thread([&] { pthread_mutex_lock(&mutex); }).join();
            wrong += check(pthread_mutex_lock(&mutex) == EOWNERDEAD, "owner died");
            wrong += check(pthread_mutex_consistent(&mutex) == 0, "consistent");
            wrong += check(pthread_mutex_unlock(&mutex) == 0, "unlock again");
          }
          wrong += check(errno == 77, "errno");
          wrong += check(pthread_mutex_destroy(&mutex) == 0, "destroy");
        }
      }
    }
  }
  std::printf("kinds of mutexes wrong %d\n", wrong);
  return wrong;
}

int small_stacks() {
  static std::mutex mutex;
  static int count = 0;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  int wrong = check(pthread_attr_setstacksize(&attributes, 16384) == 0, "16 KiB");
  std::vector<pthread_t> threads(64);
  for (pthread_t& thread : threads)
    wrong += check(pthread_create(
                       &thread, &attributes,
                       [](void*) -> void* {
                         for (int i = 0; i < 200; ++i) {
                           std::lock_guard lock(mutex);
                           ++count;
                           sched_yield();
                         }
                         return nullptr;
                       },
                       nullptr) == 0,
                   "thread");
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  std::printf("count %d wrong %d\n", count, wrong);
  return wrong;
}

int seccomp_filter() {
  static std::mutex mutex;
  // The filter allows the calls of the threads below; any other call kills the process.
  std::vector<int> allowed{SYS_futex,    SYS_exit,           SYS_exit_group, SYS_write,
                           SYS_madvise,  SYS_rseq,           SYS_mmap,       SYS_munmap,
                           SYS_brk,      SYS_rt_sigprocmask, SYS_newfstatat, SYS_clock_nanosleep,
                           SYS_mprotect, SYS_clone3,         SYS_clone,      SYS_set_robust_list};
  struct Filter {
    unsigned short code;
    unsigned char right, wrong;
    unsigned k;
  };
  std::vector<Filter> program{{0x20, 0, 0, 0}};  // load the number
  for (const int call : allowed) {
    program.push_back({0x15, 0, 1, static_cast<unsigned>(call)});
    program.push_back({0x06, 0, 0, SECCOMP_RET_ALLOW});
  }
  program.push_back({0x06, 0, 0, 0x80000000U});
  struct {
    unsigned short length;
    Filter* filter;
  } what{static_cast<unsigned short>(program.size()), program.data()};
  std::printf("filtered\n");
  std::fflush(stdout);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 3;
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &what, 0, 0) != 0) return 3;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] {
      for (int j = 0; j < 300; ++j) {
        std::lock_guard lock(mutex);
        timespec time{0, 10'000};
        nanosleep(&time, nullptr);
      }
    });
  for (std::thread& thread : threads) thread.join();
  std::printf("still there\n");
  return 0;
}

int fork_in_threads() {
  static std::mutex mutex;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 20; ++j) {
        std::lock_guard lock(mutex);
        const pid_t child = fork();
        if (child == 0) {
          std::mutex own;
          std::atomic<int> count{0};
          const auto work = [&] {
            for (int k = 0; k < 100; ++k) {
              std::lock_guard inner(own);
              ++count;
            }
          };
          std::thread other(work);
          work();
          other.join();
          _exit(count == 200 && getenv("THREADMARK_PROBE") == nullptr ? 42 : 1);
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 42) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  std::printf("forks wrong %d\n", wrong.load());
  return wrong;
}

int close_all() {
  static std::mutex mutex;
  for (int file = 3; file < 256; ++file) close(file);
  const int file = open("/dev/null", O_RDONLY);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] {
      for (int j = 0; j < 1000; ++j) {
        std::lock_guard lock(mutex);
        if (j % 100 == 0) usleep(100);
      }
    });
  for (std::thread& thread : threads) thread.join();
  std::printf("next descriptor %d then %d\n", file, dup(0));
  return 0;
}

// Routines that fail, that call others, and that other threads await meanwhile.
int once_again() {
  std::once_flag flag, inner;
  std::atomic<int> tries{0}, inner_runs{0}, caught{0};
  const auto run = [&] {
    try {
      std::call_once(flag, [&] {
        try {
          std::call_once(inner, [&] {
            ++inner_runs;
            throw 1;
          });
        } catch (int) {
        }
        std::this_thread::sleep_for(10ms);
        if (++tries < 3) throw 2;
      });
    } catch (int) {
      ++caught;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) threads.emplace_back(run);
  for (std::thread& thread : threads) thread.join();
  std::printf("once %d %d %d\n", tries.load(), inner_runs.load(), caught.load());
  return 0;
}

std::atomic<int> ticks{0};

int profile_signals() {
  static std::mutex mutex;
  struct sigaction action{};
  action.sa_handler = [](int) {
    // A handler that locks: a poor idea, but programs do so with recursive or own locks.
    static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    if (pthread_mutex_trylock(&own) == 0) {
      ++ticks;
      pthread_mutex_unlock(&own);
    }
  };
  action.sa_flags = SA_RESTART;
  sigaction(SIGPROF, &action, nullptr);
  itimerval every{{0, 1000}, {0, 1000}};
  setitimer(ITIMER_PROF, &every, nullptr);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] {
      for (int j = 0; j < 20'000; ++j) {
        std::lock_guard lock(mutex);
        busy_for(2us);
      }
    });
  for (std::thread& thread : threads) thread.join();
  every = {};
  setitimer(ITIMER_PROF, &every, nullptr);
  std::printf("ticks %s\n", ticks > 5 ? "came" : "did not come");
  return 0;
}

struct Early {
  Early() {
    static std::mutex mutex;
    std::lock_guard lock(mutex);
    std::thread([this] {
      std::lock_guard inner(mutex_);
      ++value;
    }).join();
  }
  std::mutex mutex_;
  int value = 0;
} early;

int early_constructor() {
  std::printf("early %d\n", early.value);
  return 0;
}

// The thread that waits was made before the agent's constructor ran.
int early_thread() {
  std::thread holder([] { holder_outer(); });
  while (!known_held) std::this_thread::yield();
  early_job = waiter_outer;
  join_early();
  holder.join();
  std::puts("early thread");
  return 0;
}

std::jmp_buf back;

int jump_out() {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static std::atomic<bool> taken{false};
  std::thread holder([] {
    pthread_mutex_lock(&mutex);
    taken = true;
    usleep(50'000);
    pthread_mutex_unlock(&mutex);
  });
  while (!taken) sched_yield();
  std::signal(SIGALRM, [](int) { siglongjmp(back, 1); });
  if (sigsetjmp(back, 1) == 0) {
    ualarm(5'000, 0);
    pthread_mutex_lock(&mutex);
    std::puts("not left");
  } else {
    std::puts("left");
  }
  holder.join();
  // The agent records later waits as usual.
  known_waits();
  return 0;
}

int replaced() {
  setenv("KEPT", "yes", 1);
  std::fflush(stdout);
  execl("/proc/self/exe", "target", "environment", static_cast<char*>(nullptr));
  return 1;
}

int environment() {
  std::vector<std::string> lines;
  for (char** at = environ; *at != nullptr; ++at) lines.emplace_back(*at);
  std::sort(lines.begin(), lines.end());
  for (const std::string& line : lines) std::puts(line.c_str());
  std::fflush(stdout);
  const int first = open("/dev/null", O_RDONLY);
  std::printf("first descriptor %d\n", first);
  close(first);
  known_waits();
  // Children have the same environment, but the agent does not record them.
  std::fflush(stdout);
  return system("env | grep -c -e THREADMARK_ -e libthreadmark; true");
}

int many_threads() {
  std::atomic<int> count{0};
  for (int i = 0; i < 500; ++i) {
    std::thread one([&] { ++count; }), two([&] { ++count; });
    one.join();
    two.join();
  }
  // No std::thread, because the unwinder of libc++ and that of pthread_exit differ.
  pthread_t leaver;
  pthread_create(&leaver, nullptr, [](void*) -> void* { pthread_exit(nullptr); }, nullptr);
  pthread_join(leaver, nullptr);
  std::printf("threads %d\n", count.load());
  return 0;
}

KEPT void deep(int left) {
  if (left == 0)
    waiter_outer();
  else
    deep(left - 1);
  NOT_A_TAIL;
}

int deep_recursion() {
  std::thread holder([] { holder_outer(); });
  while (!known_held) std::this_thread::yield();
  std::thread waiter([] { deep(10'000); });
  holder.join();
  waiter.join();
  return 0;
}

// A lock's own class, which calls from one place for all takers of the lock.
struct Gate {
  [[gnu::noinline]] void enter() {
    known_mutex.lock();
    NOT_A_TAIL;
  }
};
template <int place>
[[gnu::noinline]] void take_from(Gate& gate) {
  gate.enter();
  std::this_thread::yield();  // so the other thread waits, also on one processor
  known_mutex.unlock();
  NOT_A_TAIL;
}

int many_places() {
  const auto take = [] {
    Gate gate;
    for (int i = 0; i < 40'000; ++i) {
      take_from<0>(gate);
      take_from<1>(gate);
      take_from<2>(gate);
      take_from<3>(gate);
    }
  };
  std::thread one(take), two(take);
  one.join();
  two.join();
  return 0;
}

ucontext_t main_context, fiber_context;

// A fiber on memory that is exactly as large as its stack, with nothing readable above it.
int fibers() {
  std::thread holder([] { holder_outer(); });
  while (!known_held) std::this_thread::yield();
  auto* memory =
      static_cast<char*>(mmap(nullptr, 3 * 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(memory + 65536, 65536, PROT_READ | PROT_WRITE);
  getcontext(&fiber_context);
  fiber_context.uc_stack.ss_sp = memory + 65536;
  fiber_context.uc_stack.ss_size = 65536;
  fiber_context.uc_link = &main_context;
  makecontext(&fiber_context, waiter_outer, 0);
  swapcontext(&main_context, &fiber_context);
  holder.join();
  std::puts("fiber back");
  return 0;
}

#if defined(__x86_64__) && defined(__GLIBC__)
// A program from before 2003 uses these conditions, which have another layout.
extern "C" int wait_as_of_old(pthread_cond_t*, pthread_mutex_t*);
extern "C" int signal_as_of_old(pthread_cond_t*);
__asm__(".symver wait_as_of_old, pthread_cond_wait@GLIBC_2.2.5");
__asm__(".symver signal_as_of_old, pthread_cond_signal@GLIBC_2.2.5");

int old_conditions() {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static pthread_cond_t condition{};
  static int turn = 0;
  const auto work = [](int own) {
    for (int i = 0; i < 500; ++i) {
      pthread_mutex_lock(&mutex);
      while (turn != own) wait_as_of_old(&condition, &mutex);
      turn = 1 - own;
      signal_as_of_old(&condition);
      pthread_mutex_unlock(&mutex);
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  std::printf("turn %d\n", turn);
  return 0;
}
#else
int old_conditions() { return 0; }
#endif

int hammer() {
  static std::mutex mutex;
  static long count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([] {
      for (int j = 0; j < 2'000'000; ++j) {
        std::lock_guard lock(mutex);
        ++count;
      }
    });
  for (std::thread& thread : threads) thread.join();
  std::printf("count %ld\n", count);
  return 0;
}

// The program calls dlclose very often, but nothing is unloaded.
int closes_often() {
  std::atomic<int> wrong{0};
  void* kept = dlopen(SMALL_PLUGIN, RTLD_NOW);
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&, i] {
      for (int j = 0; j < 50'000; ++j) {
        void* library = dlopen(i == 0 ? "libc.so.6" : SMALL_PLUGIN, RTLD_NOW);
        if (library == nullptr || dlclose(library) != 0) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  dlclose(kept);
  std::printf("closes wrong %d\n", wrong.load());
  return wrong;
}

KEPT int call_small(int (*call)(void (*)())) {
  const int result = call(waiter_outer);
  NOT_A_TAIL;
  return result;
}
KEPT int call_large(int (*call)(void (*)())) {
  const int result = call(waiter_outer);
  NOT_A_TAIL;
  return result;
}
KEPT void wait_beside() {
  waiter_outer();
  NOT_A_TAIL;
}

// Threads wait below frames of a library, beside others that load and unload all the time.
int plugins() {
  // The library was there before the agent, and the program still unloads it.
  if (early_plugin == nullptr || dlclose(early_plugin) != 0) return 3;
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> others;
  const auto again = [&](auto work) {
    others.emplace_back([&, work] {
      while (!done) work();
    });
  };
  again([] {
    known_mutex.lock();
    std::this_thread::sleep_for(200us);
    known_mutex.unlock();
    std::this_thread::sleep_for(20us);
  });
  again([] { wait_beside(); });
  // A failing look-up also takes time in the loader.
  again([&] {
    void* library = dlopen(SMALL_PLUGIN, RTLD_NOW);
    if (library == nullptr || dlclose(library) != 0) ++wrong;
  });
  const auto end = std::chrono::steady_clock::now() + 1500ms;
  for (int i = 0; std::chrono::steady_clock::now() < end; ++i) {
    const bool large = i % 2 == 1;
    void* library = dlopen(large ? LARGE_PLUGIN : SMALL_PLUGIN, RTLD_NOW);
    if (library == nullptr) return 3;
    const auto call = reinterpret_cast<int (*)(void (*)())>(dlsym(library, "call_from_plugin"));
    const auto until = std::chrono::steady_clock::now() + 50ms;
    while (std::chrono::steady_clock::now() < until)
      wrong += (large ? call_large(call) : call_small(call)) == 1 ? 0 : 1;
    dlclose(library);
  }
  done = true;
  for (std::thread& thread : others) thread.join();
  std::printf("plugins wrong %d\n", wrong.load());
  return wrong;
}

void exits_in_thread() {
  std::thread([] { std::exit(9); }).join();
}

// --- Child processes.

struct InSharedMemory {
  pthread_mutex_t mutex;
  std::atomic<int> held;
};
InSharedMemory* in_shared_memory = nullptr;

KEPT void hold_shared() {
  pthread_mutex_lock(&in_shared_memory->mutex);
  in_shared_memory->held = 1;
  std::this_thread::sleep_for(100ms);
  in_shared_memory->held = 0;
  pthread_mutex_unlock(&in_shared_memory->mutex);
  NOT_A_TAIL;
}
KEPT void wait_for_shared() {
  pthread_mutex_lock(&in_shared_memory->mutex);
  pthread_mutex_unlock(&in_shared_memory->mutex);
  NOT_A_TAIL;
}
KEPT void make_shared() {
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  in_shared_memory = new (memory) InSharedMemory{};
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(&in_shared_memory->mutex, &attributes);
  NOT_A_TAIL;
}

// Two children share a mutex, and each child also waits for a private word at the same address.
int shared_by_children() {
  make_shared();
  pid_t children[2];
  for (int i = 0; i < 2; ++i) {
    children[i] = fork();
    if (children[i] != 0) continue;
    for (int round = 0; round < 3; ++round) {
      if (i == 0) {
        while (in_shared_memory->held != 0) std::this_thread::yield();
        hold_shared();
        std::this_thread::sleep_for(50ms);
      } else {
        while (in_shared_memory->held == 0) std::this_thread::yield();
        wait_for_shared();
      }
    }
    known_waits();
    std::fflush(stdout);
    _exit(0);
  }
  int wrong = 0;
  for (const pid_t child : children) {
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) ++wrong;
  }
  std::printf("wrong %d\n", wrong);
  return wrong;
}

void sleep_as(const char* name) {
  prctl(PR_SET_NAME, name);
  std::this_thread::sleep_for(30ms);
}

int ended(pid_t child, const char* what) {
  int status = 0;
  return check(child > 0 && waitpid(child, &status, 0) == child && status == 0, what);
}

// Makes a child in each possible way; each child sleeps under a name of its own.
int kinds_of_children() {
  int wrong = 0;
  const auto child = [&](const char* name, pid_t pid) {
    if (pid == 0) {
      sleep_as(name);
      _exit(0);
    }
    wrong += ended(pid, name);
  };
  std::fflush(stdout);
  child("forked", fork());
  child("forked raw", static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)));
  static char stack[65536];
  const auto routine = [](void*) -> int {
    sleep_as("cloned");
    _exit(0);
  };
  wrong += ended(clone(routine, stack + sizeof stack, SIGCHLD, nullptr), "cloned");
  if (const pid_t pid = fork(); pid == 0) {
    execl("/proc/self/exe", "target", "sleeper", "executed", nullptr);
    _exit(1);
  } else {
    wrong += ended(pid, "executed");
  }
  if (const pid_t pid = vfork(); pid == 0) {
    execl("/proc/self/exe", "target", "sleeper", "vforked", nullptr);
    _exit(1);
  } else {
    wrong += ended(pid, "vforked");
  }
  char program[] = "target", what[] = "sleeper", name[] = "spawned", other[] = "spawned p";
  char* arguments[] = {program, what, name, nullptr};
  pid_t pid = 0;
  wrong += check(posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, arguments, environ) == 0,
                 "posix_spawn");
  wrong += ended(pid, "spawned");
  arguments[2] = other;
  wrong += check(posix_spawnp(&pid, "/proc/self/exe", nullptr, nullptr, arguments, environ) == 0,
                 "posix_spawnp");
  wrong += ended(pid, "spawned p");
  char path[512] = {};
  wrong += check(readlink("/proc/self/exe", path, sizeof path - 1) > 0, "readlink");
  wrong += check(system((std::string(path) + " sleeper system").c_str()) == 0, "system");
  FILE* pipe = popen((std::string(path) + " sleeper popen").c_str(), "r");
  wrong += check(pipe != nullptr && pclose(pipe) == 0, "popen");
  std::printf("children wrong %d\n", wrong);
  return wrong;
}

// A child that is killed while it waits, one that exits by return, and later waits of the parent.
int killed_child() {
  std::fflush(stdout);
  if (const pid_t child = fork(); child == 0) {
    std::thread([] {
      std::this_thread::sleep_for(20ms);
      kill(getpid(), SIGKILL);
    }).detach();
    std::mutex own;
    own.lock();
    own.lock();
  } else {
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("killed by %d\n", WTERMSIG(status));
  }
  return known_waits();
}

// The environment that children of each kind see, in its order.
int environment_of_children() {
  const char* const shows = "env | grep -v '^_='";
  setenv("BEFORE", "1", 1);
  setenv("TAKEN", "1", 1);
  std::fflush(stdout);
  int wrong = check(system(shows) == 0, "system");
  if (const char* preload = getenv("LD_PRELOAD")) std::printf("preload %s\n", preload);
  // Changes during a command: one variable is replaced and one removed in place, then one is added.
  for (void (*change)() : {+[] { setenv("BEFORE", "2", 1); }, +[] { unsetenv("TAKEN"); },
                           +[] { setenv("DURING", "1", 1); }}) {
    std::thread changes([change] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      change();
    });
    wrong += check(system("sleep 0.05") == 0, "system");
    changes.join();
  }
  std::fflush(stdout);
  wrong += check(system(shows) == 0, "system");
  if (const pid_t child = fork(); child == 0) {
    char* nothing[] = {nullptr};
    execle("/bin/sh", "sh", "-c", "/usr/bin/env", nullptr, nothing);
    _exit(1);
  } else {
    wrong += ended(child, "execle");
  }
  for (char** at = environ; *at != nullptr; ++at) std::puts(*at);
  return wrong;
}

int main(int count, char** arguments) {
  if (count > 2 && std::strcmp(arguments[1], "sleeper") == 0) {
    sleep_as(arguments[2]);
    return 0;
  }
  const std::map<std::string, std::function<int()>> programs{
      {"known_waits", known_waits},
      {"all_kinds", all_kinds},
      {"futile", futile},
      {"convoy", convoy},
      {"short_output", short_output},
      {"cancelled_waits", cancelled_waits},
      {"kinds_of_mutexes", kinds_of_mutexes},
      {"small_stacks", small_stacks},
      {"seccomp_filter", seccomp_filter},
      {"fork_in_threads", fork_in_threads},
      {"close_all", close_all},
      {"profile_signals", profile_signals},
      {"early_constructor", early_constructor},
      {"early_thread", early_thread},
      {"jump_out", jump_out},
      {"replaced", replaced},
      {"environment", environment},
      {"many_threads", many_threads},
      {"deep_recursion", deep_recursion},
      {"many_places", many_places},
      {"fibers", fibers},
      {"hammer", hammer},
      {"once_again", once_again},
      {"closes_often", closes_often},
      {"plugins", plugins},
      {"old_conditions", old_conditions},
      {"exits_in_thread",
       [] {
         exits_in_thread();
         return 0;
       }},
      {"aborts", []() -> int { std::abort(); }},
      {"shared_by_children", shared_by_children},
      {"kinds_of_children", kinds_of_children},
      {"killed_child", killed_child},
      {"environment_of_children", environment_of_children},
  };
  const auto found = programs.find(count > 1 ? arguments[1] : "");
  return found == programs.end() ? 99 : found->second();
}
