// Sleeps until SIGTERM or SIGINT asks it to end. Then it writes a line and ends with status 7.
#include <unistd.h>

#include <csignal>

int main() {
  signal(SIGTERM, [](int) {
    if (write(1, "ended\n", 6) == 6) _exit(7);
  });
  signal(SIGINT, [](int) {
    if (write(1, "interrupted\n", 12) == 12) _exit(8);
  });
  if (write(1, "ready\n", 6) != 6) return 1;
  for (;;) pause();
}
