// The code tells a missing variable from an empty one, and the copy outlives a change.
#include <cassert>
#include <cstdlib>
#include <optional>
#include <string>

#include "two_threads.hpp"

std::optional<std::string> read() {
  // snippet
  return value;
}

int main() {
  ::unsetenv("NAME");
  assert(!read());
  ::setenv("NAME", "", 1);
  assert(read() == "");
  ::setenv("NAME", "a text that is too long to lie in the string itself", 1);
  const auto kept = read();
  ::setenv("NAME", "other", 1);
  assert(kept == "a text that is too long to lie in the string itself");
  assert(read() == "other");
}
