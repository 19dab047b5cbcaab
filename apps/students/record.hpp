// The data of a student, from any of the four files: the record, the union of records of the same
// student, the grade, and the line of the result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "data.hpp"
#include "plan.hpp"

namespace students {

// The first lines of the result, and of the list of students that are not in all four files.
inline constexpr std::string_view kResultType = "summarydata";
inline constexpr std::string_view kIncompleteType = "incompletedata";

inline constexpr std::uint32_t kMostPoints = 1000;    // of an exam, an exercise or a project
inline constexpr std::size_t kMostPersonBytes = 255;  // of name, tab and programme
inline constexpr std::size_t kMostResultBytes = 320;  // of a line of the result, an upper bound
inline constexpr std::uint32_t kDefaultMaximum = 5;   // points; those of `generate`
inline constexpr unsigned kAllKnown = (1U << kFiles) - 1;

inline constexpr unsigned bit(File file) { return 1U << file; }

struct Points {
  std::uint32_t exam = 0;
  std::uint32_t exercises = 0;  // the sum of all
  std::uint32_t project = 0;
};

// The full marks of the parts.
struct Scale {
  std::uint32_t maximum = kDefaultMaximum;  // of the exam, of each exercise and of the project
  std::uint32_t exercises = 0;              // exercises of each student
};

struct Record {
  std::uint32_t number = 0;
  unsigned known = 0;  // bit(file) for each file whose line is in the record
  Points points;
  std::string person;  // the name, a tab and the programme

  bool complete() const { return known == kAllKnown; }
};

// Adds to `record` the data that only `other` has; both are of the same number. Returns the bits of
// the files that both have already, 0 if there are none; `record` keeps its own data for those.
unsigned add_missing(Record& record, const Record& other);

// The grade, 0 to 5: 0 if the exam has less than half of its maximum. Else it depends on the share
// of all points, in which the exam weighs as much as the exercises and the project together: less
// than 50 % is 0, 50 % is 1, and each further 10 % adds 1, up to 5. Points above the maximum count
// in full.
unsigned grade(const Points& points, const Scale& scale);

// Writes the line of the result and its line feed: number, name, programme, points of the exam, sum
// of the exercises, points of the project, grade. `at` has room for kMostResultBytes. Returns the
// end.
char* put_result(char* at, std::uint32_t number, std::string_view person, const Points& points,
                 unsigned grade);

// The number of bytes that put_result writes for a person of `person_bytes` bytes.
std::size_t result_bytes(std::uint32_t number, std::size_t person_bytes, const Points& points);

// The line of the list: the number and the names of the files that lack the student. `at` has room
// for kMostResultBytes. Returns the end.
char* put_incomplete(char* at, std::uint32_t number, unsigned known);

// The number of bytes that put_incomplete writes.
std::size_t incomplete_bytes(std::uint32_t number, unsigned known);

// Writes the number in the form of all files: with zeros in front up to five digits. Returns the
// end.
char* put_padded(char* at, std::uint32_t number);
std::string padded(std::uint32_t number);

}  // namespace students
