// The definitions. The fast functions look at eight bytes at a time, in one word whose lowest byte
// is the first one. They return nullptr for all input that they do not know, right or wrong.
#include "parse.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <string>

namespace students {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::uint64_t kEach = 0x0101010101010101;
constexpr std::uint64_t kHigh = 0x8080808080808080;

std::uint64_t word_at(const char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// The lowest set bit belongs to the first byte that is less than `least` (of 1 to 128).
constexpr std::uint64_t less_than(std::uint64_t word, std::uint64_t least) {
  return (word - kEach * least) & ~word & kHigh;
}

constexpr bool all_digits(std::uint64_t word) {
  return (word & (kEach * 0xf0)) == kEach * 0x30 &&
         ((word + kEach * 6) & (kEach * 0xf0)) == kEach * 0x30;
}

// Of eight digits: pairs, fours, all.
constexpr std::uint32_t value_of(std::uint64_t word) {
  word = ((word & kEach * 0x0f) * (10 * 256 + 1)) >> 8;
  word = ((word & 0x00ff00ff00ff00ff) * (100 * 65536 + 1)) >> 16;
  return static_cast<std::uint32_t>(((word & 0x0000ffff0000ffff) * ((10000ULL << 32) + 1)) >> 32);
}

// A number of up to eight digits and the tab behind it.
const char* fast_number(const char* at, const char* end, std::uint32_t& number) {
  if (end - at < 9) return nullptr;
  std::uint64_t word = word_at(at);
  const std::uint64_t tabs = less_than(word ^ (kEach * '\t'), 1);
  unsigned digits = 8;
  if (tabs != 0) {
    digits = static_cast<unsigned>(std::countr_zero(tabs)) / 8;
    if (digits == 0) return nullptr;
    word = word << (64 - 8 * digits) | (kEach * '0') >> (8 * digits);
  } else if (at[8] != '\t') {
    return nullptr;
  }
  if (!all_digits(word)) return nullptr;
  number = value_of(word);
  return number == 0 ? nullptr : at + digits + 1;
}

constexpr bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

const char* fast_points(const Rules& rules, const char* at, const char* end, Line& line) {
  if (end - at < 2 || !is_digit(at[0]) || at[1] != '\n') return nullptr;
  line.points = static_cast<std::uint32_t>(at[0] - '0');
  line.above = line.points > rules.maximum;
  return at + 2;
}

// Points of one digit each, four with their tabs at a time.
const char* fast_exercises(const Rules& rules, const char* at, const char* end, Line& line) {
  constexpr std::uint64_t kPairs = 0x0001000100010001;
  std::uint32_t left = rules.exercises;
  if (left == 0 || end - at < 2 * static_cast<std::ptrdiff_t>(left)) return nullptr;
  const std::uint64_t to_above = kPairs * (15 - std::min<std::uint32_t>(rules.maximum, 15));
  std::uint64_t above = 0;
  std::uint32_t sum = 0;
  for (; left > 4; left -= 4, at += 8) {
    const std::uint64_t word = word_at(at);
    if ((word & (kPairs * 0xfff0)) != kPairs * ('\t' << 8 | 0x30)) return nullptr;
    const std::uint64_t digits = word & (kPairs * 0x0f);
    if (((digits + kPairs * 6) & (kPairs * 0x10)) != 0) return nullptr;
    above |= (digits + to_above) & (kPairs * 0x10);
    sum += static_cast<std::uint32_t>((digits * kPairs) >> 48);
  }
  line.above = above != 0;
  for (; left > 0; --left, at += 2) {
    if (!is_digit(at[0]) || at[1] != (left == 1 ? '\n' : '\t')) return nullptr;
    const auto points = static_cast<std::uint32_t>(at[0] - '0');
    line.above |= points > rules.maximum;
    sum += points;
  }
  line.points = sum;
  return at;
}

const char* fast_person(const char* const begin, const char* end, Line& line) {
  const char* tab = nullptr;
  const char* at = begin;
  for (;;) {
    if (end - at < 8) return nullptr;
    const std::uint64_t word = word_at(at);
    const std::uint64_t special = less_than(word, ' ') | (word & kHigh);
    if (special == 0) {
      at += 8;
      continue;
    }
    at += std::countr_zero(special) / 8;
    if (*at == '\t' && tab == nullptr) {
      tab = at++;
    } else if (*at == '\n' && tab != nullptr) {
      break;
    } else if (const std::size_t length = utf8_length(at, end); length > 1) {
      at += length;
    } else {
      return nullptr;
    }
  }
  line.person = {begin, static_cast<std::size_t>(at - begin)};
  const bool empty = tab == begin || tab + 1 == at;
  return empty || line.person.size() > kMostPersonBytes ? nullptr : at + 1;
}

const char* fast_line(const Rules& rules, const char* at, const char* end, Line& line) {
  at = fast_number(at, end, line.number);
  if (at == nullptr) return nullptr;
  if (rules.file == kBasic) return fast_person(at, end, line);
  if (rules.file == kExercise) return fast_exercises(rules, at, end, line);
  return fast_points(rules, at, end, line);
}

// The text before the next tab, which is taken away with it.
std::string_view take_field(std::string_view& text) {
  const std::string_view field = text.substr(0, text.find('\t'));
  text.remove_prefix(std::min(text.size(), field.size() + 1));
  return field;
}

// Digits only, with zeros in front if they fit into most_digits.
bool whole_number(std::string_view field, std::size_t most_digits, std::uint32_t& value) {
  if (field.empty() || field.size() > most_digits) return false;
  if (!std::ranges::all_of(field, is_digit)) return false;
  return std::from_chars(field.data(), field.data() + field.size(), value).ec == std::errc();
}

std::uint32_t number_of(std::string_view field) {
  std::uint32_t number = 0;
  if (!whole_number(field, 10, number) || number == 0 || number > kMostStudents) {
    throw BadLine("the student number is " + quoted(field) + ", not a whole number from 1 to " +
                  std::to_string(kMostStudents) + "; correct it.");
  }
  return number;
}

std::uint32_t points_of(std::string_view field) {
  std::uint32_t points = 0;
  if (!whole_number(field, 4, points) || points > kMostPoints) {
    throw BadLine("the points are " + quoted(field) + ", not a whole number from 0 to " +
                  std::to_string(kMostPoints) + "; correct them.");
  }
  return points;
}

void check_text(const char* what, std::string_view field) {
  if (field.empty()) throw BadLine(std::string("the ") + what + " is empty; add it.");
  const char* const end = field.data() + field.size();
  for (const char* at = field.data(); at < end;) {
    if (static_cast<unsigned char>(*at) < ' ') {
      throw BadLine(std::string("the ") + what + " " + quoted(field) +
                    " has a control character; remove it.");
    }
    const std::size_t length = utf8_length(at, end);
    if (length == 0) {
      throw BadLine(std::string("the ") + what + " " + quoted(field) +
                    " is not valid UTF-8; convert the file (iconv -f LATIN1 -t UTF-8).");
    }
    at += length;
  }
}

std::string_view person_of(std::string_view text) {
  std::string_view rest = text;
  check_text("name", take_field(rest));
  check_text("programme", take_field(rest));
  if (text.size() > kMostPersonBytes) {
    throw BadLine("name and programme have " + std::to_string(text.size()) + " bytes, at most " +
                  std::to_string(kMostPersonBytes) + " are possible; shorten them.");
  }
  return text;
}

void check_fields(const Rules& rules, std::string_view text) {
  const auto fields = static_cast<std::size_t>(std::ranges::count(text, '\t')) + 1;
  if (rules.file == kExercise) {
    if (fields == rules.exercises + 1) return;
    throw BadLine("it has points of " + std::to_string(fields - 1) + " exercises, and line 2 has " +
                  std::to_string(rules.exercises) + "; give all students the same number.");
  }
  const std::size_t right = rules.file == kBasic ? 3 : 2;
  if (fields == right) return;
  throw BadLine("it has " + std::to_string(fields) + (fields == 1 ? " field" : " fields") +
                " between tabs, not " + std::to_string(right) +
                (right == 3 ? " (number, name, programme)" : " (number, points)") +
                "; correct the line.");
}

const char* complete_line(const Rules& rules, const char* at, const char* end, Line& line) {
  const auto bytes = static_cast<std::size_t>(end - at);
  const auto* const feed = static_cast<const char*>(std::memchr(at, '\n', bytes));
  if (feed == nullptr) {
    throw BadLine("its line feed is missing, so the file is not whole; copy or generate it again.");
  }
  std::string_view text(at, static_cast<std::size_t>(feed - at));
  if (text.ends_with('\r')) {
    throw BadLine("it ends with CR LF; convert the file (sed -i 's/\\r$//' FILE).");
  }
  if (text.empty()) throw BadLine("it is empty; remove it.");
  line = {};  // the fast way may have left a part
  line.number = number_of(text.substr(0, text.find('\t')));
  check_fields(rules, text);
  take_field(text);
  if (rules.file == kBasic) {
    line.person = person_of(text);
    return feed + 1;
  }
  for (auto left = std::ranges::count(text, '\t') + 1; left > 0; --left) {
    const std::uint32_t points = points_of(take_field(text));
    line.points += points;
    line.above |= points > rules.maximum;
  }
  return feed + 1;
}

}  // namespace

const char* parse_line(const Rules& rules, const char* at, const char* end, Line& line) {
  line = {};
  const char* const next = fast_line(rules, at, end, line);
  return next != nullptr ? next : complete_line(rules, at, end, line);
}

std::uint32_t exercises_of(std::string_view line) {
  return static_cast<std::uint32_t>(std::ranges::count(line, '\t'));
}

Record record_of(const Rules& rules, const Line& line) {
  Record record;
  record.number = line.number;
  record.known = bit(rules.file);
  record.person = line.person;
  if (rules.file == kExam) record.points.exam = line.points;
  if (rules.file == kExercise) record.points.exercises = line.points;
  if (rules.file == kProject) record.points.project = line.points;
  return record;
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kMost = 30;
  std::string result = "'";
  for (const char each : text.substr(0, kMost)) {
    result += each >= ' ' && each <= '~' ? each : '?';
  }
  return result + (text.size() > kMost ? "...'" : "'");
}

std::size_t utf8_length(const char* at, const char* end) {
  const auto byte = [at](std::size_t i) { return static_cast<unsigned char>(at[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  // 0xc0 and 0xc1 would begin a longer form of ASCII; 0xf5 and more are beyond Unicode.
  if (first < 0xc2 || first > 0xf4 || static_cast<std::size_t>(end - at) < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Longer forms again, halves of UTF-16 pairs, and what is beyond Unicode.
  const bool wrong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f) ||
                     (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f);
  return wrong ? 0 : length;
}

}  // namespace students
