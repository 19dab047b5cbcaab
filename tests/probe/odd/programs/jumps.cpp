// Leaves waits and wrapped calls by longjmp from signal handlers, again and again, and then waits
// from other depths of the stack.
#include <poll.h>
#include <setjmp.h>

#include <atomic>

#include "odd.hpp"

namespace {

sigjmp_buf back;
pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

[[gnu::noinline]] int leave(int how, int depth) {
  std::atomic<char> room[128] = {};
  if (depth > 0) return leave(how, depth - 1) + room[0];
  ualarm(1'000, 0);
  if (how == 0) return pthread_mutex_lock(&held);
  if (how == 1) return poll(nullptr, 0, 1'000);
  sleep_us(1'000'000);
  return 1;
}

}  // namespace

int main() {
  std::signal(SIGALRM, [](int) { siglongjmp(back, 1); });
  std::atomic<bool> taken{false}, over{false};
  sigset_t alarm;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &alarm, nullptr);
  const pthread_t holder = begin([&] {
    pthread_mutex_lock(&held);
    taken = true;
    while (!over) sleep_us(500);
    pthread_mutex_unlock(&held);
  });
  while (!taken) sched_yield();
  pthread_sigmask(SIG_UNBLOCK, &alarm, nullptr);
  static std::atomic<int> left{0}, stayed{0}, next{0};  // jumps do not reset these
  while (next < 24) {
    const int how = next++;
    if (sigsetjmp(back, 1) == 0) {
      leave(how % 3, how % 7);
      ++stayed;
    } else {
      ++left;
    }
  }
  over = true;
  pthread_join(holder, nullptr);
  say("left %d, stayed %d, counted %ld, lock %d", left.load(), stayed.load(), contend(3, 200),
      pthread_mutex_lock(&held));
}
