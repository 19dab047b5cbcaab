// A fault of a file: one sentence with line, record and field.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "students/complaint.hpp"

namespace sat {

inline constexpr std::int64_t kNoRecord = -1;
// The most problems that are kept of a file. Those beyond are counted.
inline constexpr std::size_t kMostProblems = 1000;

struct Problem {
  std::uint64_t line = 0;           // from 1; 0: the file as a whole
  std::int64_t record = kNoRecord;  // its number in references
  std::string identifier = {};      // `plane-surface`
  std::string field = {};
  std::string what = {};
};

// "line 12, record 5 (face), field loop: ..."
std::string sentence(const Problem& problem);

// Characters of a file as they may stand in a sentence: short, without control characters.
std::string printable(std::string_view text);
std::string quoted(std::string_view text);

// "$7"
std::string reference_text(std::int64_t number);

// The file cannot be read whole. The sentence does not name the file.
struct BadFile : students::Failure {
  explicit BadFile(const Problem& given) : Failure(sentence(given)), problem(given) {}
  Problem problem;
};

// A field of the wrong form. A caller that knows the record makes a Problem of it.
struct FieldError : std::runtime_error {
  FieldError(const char* name, const std::string& why) : std::runtime_error(why), field(name) {}
  const char* field;
};

}  // namespace sat
