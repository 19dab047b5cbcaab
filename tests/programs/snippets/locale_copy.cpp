// Each thread keeps the locale that was the global one when it began.
#include <cassert>
#include <locale>
#include <string>

#include "two_threads.hpp"

struct Marked : std::ctype<char> {
  char do_toupper(char) const override { return '!'; }
};

char upper() {
  // snippet
  return letters.toupper('m');
}

int main() {
  assert(upper() == 'M');
  std::locale::global(std::locale(std::locale::classic(), new Marked));
  on_two_threads([](unsigned thread) { assert(upper() == (thread == 0 ? 'M' : '!')); });
}
