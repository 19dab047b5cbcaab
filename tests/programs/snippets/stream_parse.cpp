// lacks: clang-libc++: libc++ 19 has no from_chars for reals; tmk::itext and strtod read them.
// The card's code on stream_parse: it reads the numbers that `>>` reads, one after the other, and
// reports text that is no number.
#include <cassert>
#include <cctype>
#include <charconv>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

// The numbers of a text, up to its end or to the first text that is no number.
std::vector<double> numbers_of(const std::string& text, bool& whole) {
  const char *at = text.data(), *const last = at + text.size();
  std::vector<double> numbers;
  whole = true;
  try {
    while (at != last) {
      double x = -1;
      // snippet
      numbers.push_back(x);
    }
  } catch (const std::runtime_error&) {
    whole = false;
  }
  return numbers;
}

std::vector<double> by_stream(const std::string& text) {
  std::istringstream in(text);
  std::vector<double> numbers;
  for (double x; in >> x;) numbers.push_back(x);
  return numbers;
}

}  // namespace

int main() {
  bool whole = false;
  // As the stream: blanks before a number, lines, and a plus sign.
  for (const char* text : {"1.5 2.5", " 1.5\n\t-2.5e3", "+1.5 -0 +.5", ""}) {
    assert(numbers_of(text, whole) == by_stream(text) && whole);
  }
  // As the stream: the code ends at text that is no number, and reports it.
  for (const char* text : {"1.5,2.5", "x", "-", "+", "+-1", "-+1", "+ 1", "1.5 x", "2 1e400"}) {
    assert(numbers_of(text, whole) == by_stream(text) && !whole);
  }
  // Not as the stream: infinities are numbers, blanks at the end are one number too few, and a
  // number beyond the range leaves x alone.
  const std::vector<double> infinite = numbers_of("inf -inf", whole);
  assert(whole && infinite.size() == 2 && std::isinf(infinite[0]) && infinite[1] < 0);
  assert(by_stream("inf").empty());
  assert(numbers_of("1.5 ", whole).size() == 1 && !whole);

  const auto many = [] {
    for (int i = 0; i < 1000; ++i) {
      bool all = false;
      assert(numbers_of(std::to_string(i) + " +0.25", all) == (std::vector<double>{i * 1.0, 0.25}));
      assert(all);
    }
  };
  std::thread other(many);
  many();
  other.join();
}
