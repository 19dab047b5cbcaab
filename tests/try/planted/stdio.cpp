// fix: large-buffers
// alone: large-buffers
// why: Each 4 KiB of a file are written by a call of the kernel of their own.
#include <cstdio>

#include "threads.hpp"

int main() {
  std::FILE* file = std::fopen("/dev/shm/threadmark-planted", "w");
  if (!file) return 1;
  const char line[] = "a line of sixty-four characters, as many programs write them....";
  for (int i = 0; i < 6'000'000; ++i) {
    fwrite_unlocked(line, 1, 64, file);
    if (i % 200'000 == 0) std::rewind(file);
  }
  std::fclose(file);
  std::remove("/dev/shm/threadmark-planted");
}
