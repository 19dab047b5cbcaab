// build: leak
// cases: right, wrong
// A program under LeakSanitizer. At the end LeakSanitizer stops all threads, looks for lost memory,
// and reports it only if there is some.
#include <fcntl.h>

#include <atomic>

#include "odd.hpp"

namespace {
std::atomic<void*> lost{nullptr};
}

int main(int, char** words) {
  dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);  // reports contain addresses
  lost = std::malloc(100);
  if (std::strcmp(words[1], "wrong") == 0) lost = nullptr;
  pthread_t sleeps = begin([] { pause(); });
  pthread_detach(sleeps);
  say("counted %ld", contend(4, 200));
}
