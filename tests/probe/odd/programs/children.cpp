// Children that end while threads wait: SIGCHLD comes once for each, with the right words, and
// interrupts the same calls as alone. There are no children but these.
#include <poll.h>
#include <sys/wait.h>

#include <atomic>

#include "odd.hpp"

namespace {
std::atomic<int> came{0}, right{0};
std::atomic<pid_t> expected{0};
}  // namespace

int main() {
  struct sigaction action{};
  action.sa_sigaction = [](int, siginfo_t* about, void*) {
    ++came;
    if (about->si_pid == expected && about->si_code == CLD_EXITED) right += about->si_status;
  };
  action.sa_flags = SA_SIGINFO | SA_NOCLDSTOP;
  sigaction(SIGCHLD, &action, nullptr);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &child, nullptr);
  const pthread_t other = begin([] { contend(2, 1'000); });
  int interrupted = 0;
  for (int i = 1; i <= 10; ++i) {
    const pid_t pid = fork();
    if (pid == 0) _exit(i);
    expected = pid;
    sigset_t none;
    sigemptyset(&none);
    interrupted += ppoll(nullptr, 0, nullptr, &none) < 0 && errno == EINTR;
    int status = 0;
    if (waitpid(-1, &status, 0) != pid || WEXITSTATUS(status) != i) say("another child");
  }
  pthread_join(other, nullptr);
  say("came %d, sum of statuses %d, interrupted %d, then %s", came.load(), right.load(),
      interrupted, wait(nullptr) < 0 ? name_of(errno) : "one more");
}
