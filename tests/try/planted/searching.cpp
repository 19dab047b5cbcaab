// fix: none
// why: Each thread counts letters in a text of its own, byte by byte.
#include <string>

#include "threads.hpp"

int main(int, char** words) {
  in_threads(words[1], [](long share) {
    const std::string text(10'000, 'x');
    long found = 0;
    for (long round = 0; round < share / 250; ++round)
      for (char each : text) {
        found += each == 'y';
        keep(found);
      }
  });
}
