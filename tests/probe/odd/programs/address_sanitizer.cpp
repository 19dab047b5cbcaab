// build: address
// cases: right, wrong
// known: a shared AddressSanitizer ends where another library is loaded before it
// A program under AddressSanitizer, which wants to be the first library, and reports a wrong access
// where there is one and nowhere else.
#include <fcntl.h>

#include <memory>

#include "odd.hpp"

int main(int, char** words) {
  dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);  // reports have addresses
  const auto memory = std::make_unique<int[]>(4);
  const std::size_t at = std::strcmp(words[1], "wrong") == 0 ? 4 : 3;
  say("counted %ld", contend(4, 200));
  return memory[at];
}
