// Lives within limits that the program sets: no descriptor left, no process left, little memory.
#include <fcntl.h>
#include <sys/resource.h>

#include <fstream>

#include "odd.hpp"

int main() {
  const auto set = [](__rlimit_resource_t what, rlim_t to) {
    const rlimit limit{to, to};
    return setrlimit(what, &limit);
  };
  contend(2, 50);
  const int opened = open("/dev/null", O_RDONLY);
  say("descriptors: %d %d", opened, set(RLIMIT_NOFILE, static_cast<rlim_t>(opened) + 1));
  say("one more: %s", open("/dev/null", O_RDONLY) < 0 ? name_of(errno) : "opened");
  say("counted %ld", contend(4, 200));
  close(opened);
  say("again: %d", open("/dev/null", O_RDONLY));
  say("file size: %d", set(RLIMIT_FSIZE, 0));
  say("counted %ld", contend(4, 200));
}
