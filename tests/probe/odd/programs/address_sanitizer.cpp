// build: address
// cases: right, wrong, replaced, spawned
// A program under AddressSanitizer, which ends the program if another library is loaded before
// it, and reports a wrong access only if there is one. The last two cases start the program
// again.
#include <fcntl.h>

#include <memory>
#include <string>

#include "odd.hpp"

int main(int, char** words) {
  dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);  // reports contain addresses
  if (std::strcmp(words[1], "replaced") == 0) execl(words[0], words[0], "right", nullptr);
  if (std::strcmp(words[1], "spawned") == 0)
    say("status %d", std::system((std::string(words[0]) + " right").c_str()));
  const auto memory = std::make_unique<int[]>(4);
  const std::size_t at = std::strcmp(words[1], "wrong") == 0 ? 4 : 3;
  say("counted %ld", contend(4, 200));
  return memory[at];
}
