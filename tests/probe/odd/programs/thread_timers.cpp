// Timers of each thread's processor time, like those of samplers, and timers of real time whose
// notices carry values. Ids, values and codes must be the same as alone.
#include <sys/syscall.h>

#include <atomic>

#include "odd.hpp"

namespace {

thread_local std::atomic<int> mine{0};
std::atomic<int> strange{0};

void on_tick(int, siginfo_t* about, void*) {
  if (about->si_code != SI_TIMER || about->si_value.sival_int != gettid()) ++strange;
  ++mine;
}

void sampled() {
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGRTMIN + 3;
  event.sigev_value.sival_int = gettid();
  event._sigev_un._tid = gettid();
  timer_t timer;
  if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) != 0) return say("no timer");
  const itimerspec every{{0, 1'000'000}, {0, 1'000'000}};
  timer_settime(timer, 0, &every, nullptr);
  while (mine < 3) {
  }
  timer_delete(timer);
}

}  // namespace

int main() {
  struct sigaction action{};
  action.sa_sigaction = on_tick;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGRTMIN + 3, &action, nullptr);
  const pthread_t one = begin(sampled), two = begin(sampled);
  pthread_join(one, nullptr);
  pthread_join(two, nullptr);
  say("sampled by processor time, strange %d", strange.load());

  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGRTMIN + 4);
  pthread_sigmask(SIG_BLOCK, &wanted, nullptr);
  for (int i = 0; i < 3; ++i) {
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGRTMIN + 4;
    event.sigev_value.sival_int = 70 + i;
    int id = -1;  // the kernel's own id: no other timer may exist before
    syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &id);
    const itimerspec once{{0, 0}, {0, 1'000'000}};
    syscall(SYS_timer_settime, id, 0, &once, nullptr);
    siginfo_t about{};
    const int number = sigwaitinfo(&wanted, &about);
    say("timer %d: signal SIGRTMIN%+d, value %d, code %d, overrun %d", id, number - SIGRTMIN,
        about.si_value.sival_int, about.si_code, about.si_overrun);
  }
}
