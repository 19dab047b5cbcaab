// A text that is no number is not used, and nothing is thrown.
#include <cassert>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

#include "two_threads.hpp"

std::optional<int> parse(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

int main() {
  int sum = 0;
  const auto use = [&sum](int number) { sum += number; };
  for (const std::string_view text : {"1", "two", "40", "", "1.5"}) {
    // snippet
  }
  assert(sum == 41);
}
