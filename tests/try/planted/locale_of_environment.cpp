// fix: c-locale | classic-locale
// alone: c-locale
// why: The locale of the environment is not the classic one, so its references are counted.
#include <locale>
#include <sstream>

#include "threads.hpp"

int main(int, char** words) {
  std::locale::global(std::locale(""));
  in_threads(words[1], [](long share) {
    for (long i = 0; i < share / 5; ++i) {
      std::ostringstream stream;
      stream << i;
      keep(stream.str().size());
    }
  });
}
