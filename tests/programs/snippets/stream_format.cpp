// The card's code on stream_format: the texts that `<<` and to_chars make of the same value.
#include <cassert>
#include <charconv>
#include <limits>
#include <locale>
#include <sstream>
#include <string>
#include <thread>

namespace {

template <class Value>
std::string text_of(Value value) {
  std::string out;
  // snippet
  assert(error == std::errc{});
  return out;
}

template <class Value>
std::string by_stream(Value value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

struct Thousands : std::numpunct<char> {
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

}  // namespace

int main() {
  // The same in the classic locale: integers, and reals of up to six digits.
  assert(text_of(-4711) == "-4711" && by_stream(-4711) == "-4711");
  assert(text_of(0.25) == "0.25" && by_stream(0.25) == "0.25");
  assert(text_of(std::numeric_limits<long long>::min()) == "-9223372036854775808");
  // Not the same: digits, characters, and the grouping of the locale.
  assert(text_of(0.1 + 0.2) == "0.30000000000000004" && by_stream(0.1 + 0.2) == "0.3");
  assert(text_of('a') == "97" && by_stream('a') == "a");
  std::locale::global(std::locale(std::locale::classic(), new Thousands));
  assert(text_of(1234567) == "1234567" && by_stream(1234567) == "1.234.567");
  // There is room for the longest doubles.
  assert(text_of(-std::numeric_limits<double>::max()) == "-1.7976931348623157e+308");
  assert(text_of(-2.2250738585072014e-308) == "-2.2250738585072014e-308");

  const auto many = [] {
    for (int i = 0; i < 1000; ++i) assert(std::stoi(text_of(i)) == i);
  };
  std::thread other(many);
  many();
  other.join();
}
