// build: undefined
// A program under UndefinedBehaviorSanitizer, which reports each overflow and goes on.
#include <fcntl.h>

#include <atomic>
#include <climits>

#include "odd.hpp"

int main(int count, char**) {
  const int errors = dup(STDERR_FILENO);
  char place[] = "reports.XXXXXX";
  const int reports = mkstemp(place);
  unlink(place);
  dup2(reports, STDERR_FILENO);
  const int more = INT_MAX - 1 + count;
  const std::atomic<int> sum{more + count};
  dup2(errors, STDERR_FILENO);
  say("counted %ld, reported %d, %d", contend(4, 200), lseek(reports, 0, SEEK_END) > 0, sum.load());
}
