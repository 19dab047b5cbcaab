// The definitions.
#include "record.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>

namespace students {
namespace {

char* put(char* at, std::string_view text) { return std::ranges::copy(text, at).out; }

char* put(char* at, std::uint32_t number) { return std::to_chars(at, at + 10, number).ptr; }

std::size_t digits_of(std::uint32_t number) {
  std::size_t digits = 1;
  for (; number >= 10; number /= 10) ++digits;
  return digits;
}

std::size_t padded_bytes(std::uint32_t number) { return std::max(digits_of(number), kLeastDigits); }

}  // namespace

unsigned add_missing(Record& record, const Record& other) {
  assert(record.number == other.number);
  const unsigned both = record.known & other.known;
  const unsigned only = other.known & ~record.known;
  if ((only & bit(kBasic)) != 0) record.person = other.person;
  if ((only & bit(kExam)) != 0) record.points.exam = other.points.exam;
  if ((only & bit(kExercise)) != 0) record.points.exercises = other.points.exercises;
  if ((only & bit(kProject)) != 0) record.points.project = other.points.project;
  record.known |= other.known;
  return both;
}

unsigned grade(const Points& points, const Scale& scale) {
  if (2 * points.exam < scale.maximum) return 0;
  // Tenths of the share, with the exam multiplied by the number of what it weighs as much as.
  const std::uint64_t others = std::uint64_t{scale.exercises} + 1;
  const std::uint64_t sum = points.exam * others + points.exercises + points.project;
  const std::uint64_t tenths = 10 * sum / (2 * others * scale.maximum);
  return tenths < 5 ? 0 : static_cast<unsigned>(std::min<std::uint64_t>(tenths - 4, 5));
}

char* put_padded(char* at, std::uint32_t number) {
  char* const end = put(at, number);
  const auto digits = static_cast<std::size_t>(end - at);
  if (digits >= kLeastDigits) return end;
  const std::size_t zeros = kLeastDigits - digits;
  std::copy_backward(at, end, end + zeros);
  std::fill_n(at, zeros, '0');
  return end + zeros;
}

std::string padded(std::uint32_t number) {
  std::array<char, 16> text{};
  return {text.data(), put_padded(text.data(), number)};
}

char* put_result(char* at, std::uint32_t number, std::string_view person, const Points& points,
                 unsigned grade) {
  at = put_padded(at, number);
  *at++ = '\t';
  at = put(at, person);
  for (const std::uint32_t each : {points.exam, points.exercises, points.project}) {
    *at++ = '\t';
    at = put(at, each);
  }
  *at++ = '\t';
  *at++ = static_cast<char>('0' + grade);
  *at++ = '\n';
  return at;
}

std::size_t result_bytes(std::uint32_t number, std::size_t person_bytes, const Points& points) {
  constexpr std::size_t kTabsGradeAndFeed = 7;
  return padded_bytes(number) + person_bytes + digits_of(points.exam) +
         digits_of(points.exercises) + digits_of(points.project) + kTabsGradeAndFeed;
}

char* put_incomplete(char* at, std::uint32_t number, unsigned known) {
  at = put_padded(at, number);
  for (std::size_t file = 0; file < kFiles; ++file) {
    if ((known >> file & 1) != 0) continue;
    *at++ = '\t';
    at = put(at, kFileNames[file]);
  }
  *at++ = '\n';
  return at;
}

std::size_t incomplete_bytes(std::uint32_t number, unsigned known) {
  std::size_t bytes = padded_bytes(number) + 1;
  for (std::size_t file = 0; file < kFiles; ++file) {
    if ((known >> file & 1) == 0) bytes += 1 + kFileNames[file].size();
  }
  return bytes;
}

}  // namespace students
