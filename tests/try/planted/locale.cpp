// fix: classic-locale
// alone: classic-locale
// why: Each stream copies the global locale, and both threads count its references in one word.
#include <locale>
#include <sstream>

#include "threads.hpp"

int main(int, char** words) {
  std::locale::global(std::locale("C.UTF-8"));
  in_threads(words[1], [](long share) {
    for (long i = 0; i < share / 5; ++i) {
      std::ostringstream stream;
      stream << i;
      keep(stream.str().size());
    }
  });
}
