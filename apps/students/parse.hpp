// One line of one of the four files. parse_line is fast for the lines of `generate`, and calls a
// complete parser with exact complaints for all other lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "data.hpp"
#include "plan.hpp"
#include "record.hpp"

namespace students {

// Number, points of four digits with a tab before each, and the line feed.
inline constexpr std::size_t kMostLineBytes = 10 + 5 * kMostExercises + 1;

// The rules for the lines of a file.
struct Rules {
  File file = kBasic;
  std::uint32_t exercises = 0;              // of each line of the exercises
  std::uint32_t maximum = kDefaultMaximum;  // more points set Line::above
};

struct Line {
  std::uint32_t number = 0;
  std::uint32_t points = 0;  // of the exam or the project, or the sum of the exercises
  std::string_view person;   // of the basic file: name, tab and programme, within the line
  bool above = false;        // some points are above the maximum
};

// The fault of a line, and the remedy; a caller that knows file and line puts them in front.
struct BadLine : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Reads the line that begins at `at` into `line` and returns the beginning of the next line. It
// reads no byte from `end` on; a line without a line feed before `end` is a BadLine. Throws
// BadLine.
const char* parse_line(const Rules& rules, const char* at, const char* end, Line& line);

// The number of exercises of this line, whatever its points are.
std::uint32_t exercises_of(std::string_view line);

// The line as a record of its file.
Record record_of(const Rules& rules, const Line& line);

// For a complaint: at most 30 bytes of the text in quotes, with ? for bytes that are not printable
// ASCII.
std::string quoted(std::string_view text);

// The length of the character that begins at `at`; 0 if it is not valid UTF-8 before `end`.
std::size_t utf8_length(const char* at, const char* end);

}  // namespace students
