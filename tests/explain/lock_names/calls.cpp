// Replaces the functions that wait, so that a test gets the stack of each such call from a program
// of one thread. Each replacement prints its callers, and ends the process.

#include <dlfcn.h>
#include <execinfo.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>

const char* wanted_call = "";  // the function in which a case must wait
const char* wanted_case = "";
int work = 1;

namespace {

void called(const char* function, const void* from) {
  static bool seen = false;  // the unwinder takes locks too
  if (seen || std::strcmp(function, wanted_call) != 0) return;
  seen = true;
  std::array<void*, 64> frames;
  const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
  std::printf("%s", wanted_case);
  bool outside = false;
  for (int i = 0; i < count; ++i) {
    outside = outside || frames[i] == from;
    Dl_info info;
    if (!outside || dladdr(frames[i], &info) == 0) continue;
    const auto address = reinterpret_cast<std::uintptr_t>(frames[i]);
    const auto base = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
    std::printf("\t%s %ju", info.dli_fname, static_cast<std::uintmax_t>(address - base));
  }
  std::printf("\n");
  std::fflush(stdout);
  _exit(0);
}

}  // namespace

#define STAND_IN(name, ...)                            \
  extern "C" [[gnu::noinline]] int name(__VA_ARGS__) { \
    called(#name, __builtin_return_address(0));        \
    return 0;                                          \
  }

#pragma GCC diagnostic ignored "-Wunused-parameter"
STAND_IN(pthread_mutex_lock, pthread_mutex_t*)
STAND_IN(pthread_mutex_unlock, pthread_mutex_t*)
STAND_IN(pthread_cond_wait, pthread_cond_t*, pthread_mutex_t*)
STAND_IN(pthread_rwlock_rdlock, pthread_rwlock_t*)
STAND_IN(pthread_rwlock_wrlock, pthread_rwlock_t*)
STAND_IN(sem_wait, sem_t*)

void pause_once() { called("pause", __builtin_return_address(0)); }

// The unwinder needs a working pthread_once.
extern "C" [[gnu::noinline]] int pthread_once(pthread_once_t* done, void (*run)()) {
  called("pthread_once", __builtin_return_address(0));
  if (*done == PTHREAD_ONCE_INIT) {
    *done = PTHREAD_ONCE_INIT + 2;
    run();
  }
  return 0;
}

// libc++ polls, while other libraries wait for a word of memory.
extern "C" [[gnu::noinline]] int nanosleep(const timespec*, timespec*) {
  called("futex", __builtin_return_address(0));
  return 0;
}

extern "C" long syscall(long number, ...) {  // NOLINT: this is how it is declared
  if (number == SYS_futex) called("futex", __builtin_return_address(0));
  return 0;
}
