// Gives up its rights while threads wait; the C library does that in every thread by a signal. A
// program without rights to give up prints that.
#include <grp.h>
#include <sys/prctl.h>

#include <atomic>

#include "odd.hpp"

int main() {
  if (getuid() != 0) {
    say("no rights to give up");
    return 0;
  }
  std::atomic<bool> over{false};
  std::atomic<int> changed{0};
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  const auto work = [&] {
    while (!over) {
      pthread_mutex_lock(&mutex);
      sleep_us(100);
      pthread_mutex_unlock(&mutex);
    }
    changed += geteuid() == 65534 && getegid() == 65534;
  };
  const pthread_t threads[] = {begin(work), begin(work), begin(work)};
  sleep_us(2'000);
  const int groups = setgroups(0, nullptr), group = setresgid(65534, 65534, 65534),
            user = setresuid(65534, 65534, 65534);
  over = true;
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  say("%d %d %d; changed %d; back: %s; dumpable %d", groups, group, user, changed.load(),
      setuid(0) < 0 ? name_of(errno) : "root", prctl(PR_GET_DUMPABLE));
  say("counted %ld", contend(3, 200));
}
