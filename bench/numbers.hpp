// Reads white-space separated numbers from an untrusted input file. Every number has a checked
// range, and every complaint names the line and the expected number.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "registry.hpp"

namespace bench {

class Numbers {
 public:
  // `text` must outlive the reader.
  explicit Numbers(std::string_view text) : rest_(text) {}

  // The next number, an integer in [min, max]. Throws BadInput.
  std::int64_t integer(std::string_view what, std::int64_t min, std::int64_t max) {
    const std::string_view word = next(what);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || value < min || value > max) {
      fail(what, " must be an integer from " + std::to_string(min) + " to " + std::to_string(max),
           word);
    }
    return value;
  }

  // The next number, a decimal fraction in [min, max]. Throws BadInput.
  double real(std::string_view what, double min, double max) {
    const std::string word(next(what));
    const bool plain =
        word.find_first_not_of("0123456789+-.eE") == std::string::npos;  // no nan, inf, hexadecimal
    char* end = nullptr;
    const double value = std::strtod(word.c_str(), &end);
    if (!plain || end != word.c_str() + word.size() || !(value >= min && value <= max)) {
      fail(what, " must be a number from " + std::to_string(min) + " to " + std::to_string(max),
           word);
    }
    return value;
  }

  // Throws BadInput if anything but white space follows.
  void end() {
    skip_space();
    if (!rest_.empty()) fail("the end of the file", " was expected", next(""));
  }

  // Throws BadInput about the line of the number read last.
  [[noreturn]] void fail(const std::string& sentence) const {
    throw BadInput("input file, line " + std::to_string(line_) + ": " + sentence);
  }

 private:
  static constexpr std::string_view kSpace = " \t\n\r\v\f";

  void skip_space() {
    const std::size_t length = std::min(rest_.find_first_not_of(kSpace), rest_.size());
    line_ += static_cast<std::uint64_t>(
        std::count(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(length), '\n'));
    rest_.remove_prefix(length);
  }

  std::string_view next(std::string_view what) {
    skip_space();
    if (rest_.empty()) fail("the file ends where " + std::string(what) + " was expected");
    const std::string_view word = rest_.substr(0, rest_.find_first_of(kSpace));
    rest_.remove_prefix(word.size());
    return word;
  }

  [[noreturn]] void fail(std::string_view what, const std::string& expectation,
                         std::string_view word) const {
    std::string shown(word.substr(0, 24));
    std::replace_if(shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    fail(std::string(what) + expectation + ", not '" + shown + "'");
  }

  std::string_view rest_;
  std::uint64_t line_ = 1;
};

}  // namespace bench
