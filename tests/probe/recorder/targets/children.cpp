// Makes child processes. `children locks N`: N of them compute under one mutex in shared memory.
// `sleeps N SECONDS`: N sleep, by default half a second. `dies N`: N are killed one after the other
// as soon as they run. `crashes`: one of two crashes, the other computes. `late`: a child is made
// after a second. `outlives N SECONDS`: a child sleeps so long, the first process does not.
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

pthread_mutex_t* lock = nullptr;

[[gnu::noinline]] void compute(long rounds) {
  for (long i = 0; i < rounds; ++i) asm volatile("" ::: "memory");
}

[[gnu::noinline]] void use_lock(long turns) {
  for (long i = 0; i < turns; ++i) {
    pthread_mutex_lock(lock);
    compute(300'000);
    pthread_mutex_unlock(lock);
  }
}

void pause_for(double seconds) {
  const auto whole = static_cast<time_t>(seconds);
  const timespec time{whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)};
  nanosleep(&time, nullptr);
}

template <class Work>
pid_t make(Work work) {
  const pid_t child = fork();
  if (child != 0) return child;
  work();
  _exit(0);
}

int main(int count, char** words) {
  const char* what = count > 1 ? words[1] : "";
  const int children = count > 2 ? std::atoi(words[2]) : 2;
  const double seconds = count > 3 ? std::atof(words[3]) : 0.5;
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (std::strcmp(what, "locks") == 0) {
    void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    lock = static_cast<pthread_mutex_t*>(memory);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(lock, &attributes);
    for (int i = 0; i < children; ++i) make([] { use_lock(3'000); });
  } else if (std::strcmp(what, "sleeps") == 0) {
    for (int i = 0; i < children; ++i) make([=] { pause_for(seconds); });
  } else if (std::strcmp(what, "dies") == 0) {
    for (int i = 0; i < children; ++i) waitpid(make([] { raise(SIGKILL); }), nullptr, 0);
  } else if (std::strcmp(what, "crashes") == 0) {
    make([] { raise(SIGSEGV); });
    make([] {
      prctl(PR_SET_NAME, "computes");
      compute(400'000'000);
    });
  } else if (std::strcmp(what, "late") == 0) {
    pause_for(1);
    make([] {
      prctl(PR_SET_NAME, "late");
      compute(400'000'000);
    });
  } else if (std::strcmp(what, "outlives") == 0) {
    make([=] { pause_for(seconds); });
    compute(400'000'000);
    return 0;
  }
  while (wait(nullptr) > 0) {
  }
  std::puts("done");
  return 0;
}
