// fix: none
// why: The threads compute, each for itself.
#include "threads.hpp"

int main(int, char** words) {
  in_threads(words[1], [](long share) { work(150 * share); });
}
