// The card's code on regex_match: one const regex, which two threads use at the same time and which
// keeps the locale that was the global one when it was made.
#include <cassert>
#include <locale>
#include <regex>
#include <string>
#include <thread>

namespace {

std::string first_word(const std::string& text) {
  std::string word;
  const auto use = [&word](const std::ssub_match& part) { word = part.str(); };
  // snippet
  assert(line.getloc() == std::locale::classic());
  return word;
}

void many(const std::string& word) {
  for (int i = 0; i < 200; ++i) {
    assert(first_word(word + "  " + std::to_string(i)) == word);
    assert(first_word(word + " -") == "");
  }
}

}  // namespace

int main() {
  std::thread other(many, "coedge");
  many("plane-surface");
  other.join();
  std::locale::global(std::locale(std::locale::classic(), new std::numpunct<char>()));
  assert(first_word("vertex 12") == "vertex");  // the regex keeps its locale
}
