// A program with its own profiler: ITIMER_PROF sends SIGPROF until five ticks of processor time, to
// any running thread. The handler, its siginfo and the timer must be the program's.
#include <sys/time.h>

#include <atomic>

#include "odd.hpp"

namespace {
std::atomic<int> ticks{0}, of_the_kernel{0};
}

int main() {
  struct sigaction before{}, now{};
  itimerval timer{};
  getitimer(ITIMER_PROF, &timer);
  sigaction(SIGPROF, nullptr, &before);
  say("before: default handler %d, timer at %ld us", before.sa_handler == SIG_DFL,
      timer.it_value.tv_sec * 1'000'000 + timer.it_value.tv_usec);
  now.sa_sigaction = [](int number, siginfo_t* about, void*) {
    if (number == SIGPROF && about->si_code == SI_KERNEL) ++of_the_kernel;
    ++ticks;
  };
  now.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGPROF, &now, nullptr);
  timer = {{0, 1'000}, {0, 1'000}};
  setitimer(ITIMER_PROF, &timer, nullptr);
  while (ticks < 5) contend(2, 200);
  timer = {};
  setitimer(ITIMER_PROF, &timer, nullptr);
  const int seen = ticks;
  sigaction(SIGPROF, nullptr, &before);
  say("five ticks; all from the kernel %d; handler kept %d", of_the_kernel == seen,
      before.sa_sigaction == now.sa_sigaction && before.sa_flags == now.sa_flags);
}
