// build: leak
// cases: right, wrong
// A program under LeakSanitizer, which at the end stops all threads, looks for what they have lost,
// and reports it where there is something and nowhere else.
#include <fcntl.h>

#include <atomic>

#include "odd.hpp"

namespace {
std::atomic<void*> lost{nullptr};
}

int main(int, char** words) {
  dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);  // reports have addresses
  lost = std::malloc(100);
  if (std::strcmp(words[1], "wrong") == 0) lost = nullptr;
  pthread_t sleeps = begin([] { pause(); });
  pthread_detach(sleeps);
  say("counted %ld", contend(4, 200));
}
