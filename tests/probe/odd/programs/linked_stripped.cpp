// build: stripped
// Threads that wait, a child and the environment, in a program with unusual linkage.
#include "odd.hpp"

extern char** environ;

int main() {
  for (char** at = environ; *at != nullptr; ++at) say("%s", *at);
  say("counted %ld of %s", contend(4, 300), "stripped");
  return 4 + std::system("env | sort; exit 0");
}
