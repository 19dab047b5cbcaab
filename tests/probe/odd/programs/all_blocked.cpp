// Every thread blocks every signal. Signals that are sent meanwhile stay pending, and arrive in
// their order and with their values.
#include <atomic>

#include "odd.hpp"

int main() {
  sigset_t all, is;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  std::atomic<int> others{0};
  const pthread_t thread = begin([&] {
    sigset_t own;
    pthread_sigmask(SIG_SETMASK, nullptr, &own);
    for (int i = 1; i < NSIG; ++i)
      if (sigismember(&own, i) == 1) ++others;
    contend(3, 300);
  });
  for (int i = 0; i < 4; ++i) sigqueue(getpid(), SIGRTMIN + i % 2, {.sival_int = 10 + i});
  kill(getpid(), SIGTERM);
  kill(getpid(), SIGINT);
  raise(SIGALRM);
  contend(4, 300);
  pthread_join(thread, nullptr);
  pthread_sigmask(SIG_SETMASK, nullptr, &is);
  int blocked = 0;
  for (int i = 1; i < NSIG; ++i) blocked += sigismember(&is, i) == 1;
  sigpending(&is);
  char list[256] = "";
  for (int i = 1; i < NSIG; ++i)
    if (sigismember(&is, i) == 1) std::sprintf(list + std::strlen(list), " %d", i);
  say("blocked %d, in the thread %d; pending%s", blocked, others.load(), list);
  for (;;) {
    siginfo_t about{};
    const timespec none{};
    const int number = sigtimedwait(&all, &about, &none);
    if (number < 0) break;
    say("signal %d: code %d, value %d, from here %d", number, about.si_code,
        about.si_code == SI_QUEUE ? about.si_value.sival_int : 0, about.si_pid == getpid());
  }
  say("then %s", name_of(errno));
}
