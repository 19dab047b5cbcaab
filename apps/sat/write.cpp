// The definitions. Writer is the archive that writes schema.hpp's fields.
#include "write.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

#include "characters.hpp"
#include "schema.hpp"
#include "writer.hpp"

namespace sat {

void append_real(double value, std::string& out) {
  std::array<char, 32> text{};
  const auto result = std::to_chars(text.data(), text.data() + text.size(), value);
  out.append(text.data(), result.ptr);
}

void append_integer(std::int64_t value, std::string& out) {
  std::array<char, 24> text{};
  const auto result = std::to_chars(text.data(), text.data() + text.size(), value);
  out.append(text.data(), result.ptr);
}

void write_header(const Header& header, std::string& out) {
  for (const std::int64_t each : {header.version, header.records, header.tops, header.flags}) {
    append_integer(each, out);
    out += ' ';
  }
  out.pop_back();
  out += header.more + " \n";
  if (!header.names_line.empty()) {
    out += header.names_line + "\n";
  } else if (header.has_names) {
    for (const std::string* each : {&header.product, &header.kernel, &header.date}) {
      if (header.at_signs) out += '@';
      append_integer(static_cast<std::int64_t>(each->size()), out);
      out += ' ' + *each + ' ';
    }
    out += '\n';
  }
  if (header.has_units) {
    for (const double each : {header.millimetres, header.resabs, header.resnor}) {
      append_real(each, out);
      out += ' ';
    }
    out += '\n';
  }
  if (!header.has_key) return;
  out += "T @";
  append_integer(static_cast<std::int64_t>(header.key.size()), out);
  out += ' ' + header.key + " \n";
}

void write_records(const Model& model, std::string& out, Check check) {
  Writer writer(model, out);
  for (std::size_t i = 0; i < model.size(); ++i) {
    check_now_and_then(check, i);
    writer.record(static_cast<Ref>(i));
  }
}

namespace {

// A wrong length that reached beyond the file may end within it now, as numbers have got longer.
bool ends_header_at(std::string_view text, std::size_t size) {
  std::size_t end = 0;
  try {
    static_cast<void>(read_header(text, end));
  } catch (const BadFile&) {
    return false;
  }
  return end == size;
}

}  // namespace

std::string write(const Model& model, Check check) {
  std::string out;
  out.reserve(model.document.bytes.view().size() + 1024);
  Header header = model.document.header;
  header.flags &= ~std::int64_t{model.document.history ? 1 : 0};  // the history is not written
  if (model.document.history) header.records = 0;
  write_header(header, out);
  const std::size_t size = out.size();
  write_records(model, out, check);
  const std::string_view mark = model.document.mark;
  out += mark.empty() ? std::string_view("End-of-ACIS-data") : mark;
  out += " \n";
  if (!header.names_line.empty() && !ends_header_at(out, size)) {
    header.product = std::exchange(header.names_line, {});
    std::string again;
    write_header(header, again);
    out.replace(0, size, again);
  }
  return out;
}

namespace {

// The words for 0 and 1.
bool is_choice(std::string_view word, std::size_t which) {
  constexpr std::array<Words, 8> kAll{kSense,   kSides,    kContainment, kVSense,
                                      kRotates, kReflects, kShears,      kGiven};
  return std::ranges::any_of(
      kAll, [&](const Words& each) { return word == (which == 0 ? each.first : each.second); });
}

bool equal_tokens(std::string_view a, std::string_view b) {
  if (a == b) return true;
  // References and the lengths of strings.
  const auto marked = [](std::string_view token, char mark, std::int64_t& value) {
    const char* at = token.data() + 1;
    return token.starts_with(mark) && parse_integer(at, token.data() + token.size(), value);
  };
  std::int64_t i = 0;
  std::int64_t j = 0;
  for (const char mark : {'$', '@'}) {
    if (marked(a, mark, i) && marked(b, mark, j)) return i == j;
  }
  const auto number = [](std::string_view token, double& value) {
    const char* at = token.data();
    return parse_real(at, token.data() + token.size(), value);
  };
  double x = 0;
  double y = 0;
  if (number(a, x) && number(b, y)) return same(x, y);
  // The words of a Choice may be written as numbers.
  for (std::size_t which = 0; which < 2; ++which) {
    const std::string_view digit = which == 0 ? "0" : "1";
    if ((a == digit && is_choice(b, which)) || (b == digit && is_choice(a, which))) return true;
  }
  return false;
}

}  // namespace

Ref first_difference(const Document& a, const Document& b, std::string& why, Check check) {
  const std::size_t records = std::min(a.frames.size(), b.frames.size());
  for (std::size_t i = 0; i < records; ++i) {
    check_now_and_then(check, i);
    const std::string_view left = a.record(i);
    const std::string_view right = b.record(i);
    const char* p = left.data();
    const char* q = right.data();
    const char* const left_end = p + left.size();
    const char* const right_end = q + right.size();
    for (;;) {
      p = skip_blanks(p, left_end);
      q = skip_blanks(q, right_end);
      if (p == left_end && q == right_end) break;
      const std::string_view one = token_at(p, left_end);
      const std::string_view other = token_at(q, right_end);
      if (!equal_tokens(one, other)) {
        why = quoted(one) + " became " + quoted(other);
        return static_cast<Ref>(i);
      }
      p += one.size();
      q += other.size();
    }
  }
  if (a.frames.size() == b.frames.size()) return kNull;
  why = std::to_string(a.frames.size()) + " records became " + std::to_string(b.frames.size());
  return static_cast<Ref>(records);
}

}  // namespace sat
