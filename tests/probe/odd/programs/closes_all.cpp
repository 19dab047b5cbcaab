// cases: range, each, streams
// Closes all descriptors, also those of others, and goes on. The next open gets the lowest number,
// and nothing breaks without the earlier descriptors.
#include <fcntl.h>
#include <sys/syscall.h>

#include "odd.hpp"

int main(int, char** words) {
  contend(2, 100);
  const bool streams = std::strcmp(words[1], "streams") == 0;
  const int kept = streams ? fcntl(STDOUT_FILENO, F_DUPFD, 100) : -1;
  if (std::strcmp(words[1], "range") == 0) syscall(SYS_close_range, 3, ~0U, 0);
  if (std::strcmp(words[1], "each") == 0)
    for (int file = 3; file < 4096; ++file) close(file);
  if (streams)
    for (int file = 0; file < 3; ++file) close(file);
  int opened[3];
  for (int& file : opened) file = open("/dev/null", O_RDWR);
  const long counted = contend(4, 200);
  if (streams) dup2(kept, STDOUT_FILENO);
  say("opened %d %d %d, counted %ld", opened[0], opened[1], opened[2], counted);
  close(opened[1]);
  say("then %d", open("/dev/null", O_RDONLY));
}
