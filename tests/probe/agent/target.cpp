// A program with threads that wait in ways that are known beforehand. `target NAME` runs one of
// them; what it prints and its exit status must be the same with the agent and without it.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
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
KEPT int wait_guard() {
  static const int value = [] {
    std::this_thread::sleep_for(60ms);
    return 7;
  }();
  return value;
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

int all_kinds() {
  make_objects();
  pthread_spin_init(&known_spin, 0);
  const auto after = [](auto wait, auto free) {
    std::thread thread(wait);
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
  std::thread first(wait_once);
  std::this_thread::sleep_for(5ms);
  std::thread second(wait_once);
  first.join();
  second.join();
  std::thread third(wait_guard);
  std::this_thread::sleep_for(5ms);
  std::thread fourth(wait_guard);
  third.join();
  fourth.join();
  after(wait_word, [] {
    known_word = 1;
    known_word.notify_one();
  });
  int pipes[2];
  if (pipe(pipes) != 0) return 1;
  char byte = 0;
  std::thread reader([&] { byte = read(pipes[0], &byte, 1) == 1 ? byte : 'x'; });
  std::this_thread::sleep_for(60ms);
  const bool written = write(pipes[1], "k", 1) == 1;
  reader.join();
  std::printf("all kinds %c %d %d\n", byte, written, wait_guard());
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
  // A semaphore that is free is a place of cancellation all the same.
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
  // Only what the threads below need; anything else kills the process.
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

std::atomic<int> ticks{0};

int profile_signals() {
  static std::mutex mutex;
  struct sigaction action{};
  action.sa_handler = [](int) {
    // A handler that locks: a poor idea, but programs do it with recursive or own locks.
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
  // Waits after it are recorded as ever.
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
  // Children have the same environment, and are not recorded.
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
  // Not a std::thread: the unwinder of libc++ and that of pthread_exit are two.
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

ucontext_t main_context, fiber_context;

// A fiber on memory that is just as large as its stack, with nothing readable above it.
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
// As a program of before 2003 asks for conditions, which have another layout.
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

void exits_in_thread() {
  std::thread([] { std::exit(9); }).join();
}

int main(int count, char** arguments) {
  const std::map<std::string, std::function<int()>> programs{
      {"known_waits", known_waits},
      {"all_kinds", all_kinds},
      {"cancelled_waits", cancelled_waits},
      {"kinds_of_mutexes", kinds_of_mutexes},
      {"small_stacks", small_stacks},
      {"seccomp_filter", seccomp_filter},
      {"fork_in_threads", fork_in_threads},
      {"close_all", close_all},
      {"profile_signals", profile_signals},
      {"early_constructor", early_constructor},
      {"jump_out", jump_out},
      {"replaced", replaced},
      {"environment", environment},
      {"many_threads", many_threads},
      {"deep_recursion", deep_recursion},
      {"fibers", fibers},
      {"hammer", hammer},
      {"old_conditions", old_conditions},
      {"exits_in_thread",
       [] {
         exits_in_thread();
         return 0;
       }},
      {"aborts", []() -> int { std::abort(); }},
  };
  const auto found = programs.find(count > 1 ? arguments[1] : "");
  return found == programs.end() ? 99 : found->second();
}
