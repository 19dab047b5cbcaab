// Goes on in the background after the first process has ended, and prints more there.
#include <sys/wait.h>

#include "odd.hpp"

int main() {
  contend(2, 100);
  if (fork() == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    sleep_us(30'000);  // until the first process has surely ended
    say("in the background: counted %ld", contend(3, 100));
    _exit(0);
  }
  wait(nullptr);
  say("in the foreground");
  return 2;
}
