// cases: linked_static, linked_static_pie, linked_stripped, linked_musl, missing
// The process becomes a program with other linkage, or with another C library, or a missing one,
// like a shell becomes the last command of a script. Its environment and its children are its own.
#include <string>

#include "odd.hpp"

int main(int, char** words) {
  contend(2, 100);
  const std::string self = words[0];
  const std::string other = self.substr(0, self.rfind('/') + 1) + words[1];
  execl(other.c_str(), words[1], static_cast<char*>(nullptr));
  say("%s: %s", words[1], name_of(errno));
  return 3;
}
