// Blanks, tokens, and numbers out of characters. Numbers are read without a locale.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

#include "tmk/itext.hpp"

namespace sat {

// Blank, tab, line feed, vertical tab, form feed and carriage return separate tokens.
constexpr bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool begins_number(char c) { return is_digit(c) || c == '-' || c == '+' || c == '.'; }

inline const char* skip_blanks(const char* at, const char* end) {
  while (at != end && is_blank(*at)) ++at;
  return at;
}

inline const char* token_end(const char* at, const char* end) {
  while (at != end && !is_blank(*at)) ++at;
  return at;
}

inline std::string_view token_at(const char* at, const char* end) {
  return {at, static_cast<std::size_t>(token_end(at, end) - at)};
}

// A whole token from `at`, else nothing moves.
inline bool parse_integer(const char*& at, const char* end, std::int64_t& value) {
  const char* const digits = at != end && *at == '+' ? at + 1 : at;
  if (digits != at && digits != end && *digits == '-') return false;  // from_chars takes a sign
  const auto result = std::from_chars(digits, end, value);
  if (result.ec != std::errc() || (result.ptr != end && !is_blank(*result.ptr))) return false;
  at = result.ptr;
  return true;
}

// Returns the end of the string whose length is at `at`, after its @; `at` if there is no length.
// One blank is between the length and the text. A text that is longer than the rest ends at `end`.
inline const char* skip_string(const char* at, const char* end) {
  std::int64_t size = 0;
  if (at == end || !is_digit(*at) || !parse_integer(at, end, size)) return at;
  return size < end - at ? at + 1 + size : end;
}

// Whether the token is a number: digits with or without a point, perhaps an exponent.
constexpr bool is_real(std::string_view token) {
  std::size_t at = token.starts_with('-') || token.starts_with('+') ? 1 : 0;
  const auto digits = [&] {
    const std::size_t first = at;
    while (at != token.size() && is_digit(token[at])) ++at;
    return at - first;
  };
  std::size_t found = digits();
  if (at != token.size() && token[at] == '.') {
    ++at;
    found += digits();
  }
  if (found == 0) return false;
  if (at == token.size() || (token[at] != 'e' && token[at] != 'E')) return at == token.size();
  ++at;
  if (at != token.size() && (token[at] == '-' || token[at] == '+')) ++at;
  return digits() != 0 && at == token.size();
}

// For cases beyond from_chars: numbers below the least double, and libraries that lack it.
inline bool parse_rare_real(const char*& at, const char* end, double& value) {
  const std::string_view token = token_at(at, end);
  if (!is_real(token)) return false;
  tmk::itext in(token);
  in >> value;
  const bool tiny = value > -1 && value < 1;
  if (in.fail() && !tiny) return false;
  at += token.size();
  return true;
}

// The same for a finite number. A too large number is no number; a too small number is 0 with its
// sign.
inline bool parse_real(const char*& at, const char* end, double& value) {
  const char* p = at;
  const bool negative = p != end && *p == '-';
  if (p != end && (*p == '-' || *p == '+')) ++p;
  if (p == end || !(is_digit(*p) || *p == '.')) return false;  // inf and nan are none
  // Most are short whole numbers. 15 digits are exact.
  const char* const digits = p;
  std::int64_t whole = 0;
  while (p != end && is_digit(*p) && p - digits < 15) whole = whole * 10 + (*p++ - '0');
  if (p != digits && (p == end || is_blank(*p))) {
    value = negative ? -static_cast<double>(whole) : static_cast<double>(whole);
    at = p;
    return true;
  }
#if defined(__cpp_lib_to_chars) && __cpp_lib_to_chars >= 201611L
  const auto result = std::from_chars(*at == '+' ? at + 1 : at, end, value);
  if (result.ec == std::errc() && (result.ptr == end || is_blank(*result.ptr))) {
    at = result.ptr;
    return true;
  }
#endif
  return parse_rare_real(at, end, value);
}

}  // namespace sat
