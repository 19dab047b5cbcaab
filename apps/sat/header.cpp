// The definitions.
#include "header.hpp"

#include <algorithm>
#include <array>

#include "characters.hpp"
#include "problem.hpp"

namespace sat {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view bytes)
      : begin_(bytes.data()), at_(begin_), end_(begin_ + bytes.size()) {}

  [[noreturn]] void fail(const std::string& field, const std::string& what) const {
    const auto line = static_cast<std::uint64_t>(std::count(begin_, at_, '\n')) + 1;
    throw BadFile({.line = line, .field = field, .what = what});
  }

  // Of the same line.
  bool more_on_line() {
    while (at_ != end_ && is_blank(*at_) && *at_ != '\n') ++at_;
    return at_ != end_ && *at_ != '\n';
  }
  char peek() {
    at_ = skip_blanks(at_, end_);
    return at_ == end_ ? '\0' : *at_;
  }
  std::string_view rest() const { return {at_, static_cast<std::size_t>(end_ - at_)}; }
  std::string_view token() const { return token_at(at_, end_); }
  void skip(std::size_t count) { at_ += count; }
  std::size_t position() const { return static_cast<std::size_t>(at_ - begin_); }

  std::int64_t integer(const char* field) {
    peek();
    std::int64_t value = 0;
    if (!parse_integer(at_, end_, value)) fail(field, expected("a whole number"));
    return value;
  }
  double real(const char* field) {
    peek();
    double value = 0;
    if (!parse_real(at_, end_, value)) fail(field, expected("a number"));
    return value;
  }
  // `7 unknown` or `@7 unknown`; it may go on in the next line.
  std::string string(const char* field) {
    if (peek() == '@') ++at_;
    const std::int64_t size = integer(field);
    if (size < 0 || size >= end_ - at_) {
      fail(field, "the text is to have " + std::to_string(size) + " characters, and " +
                      std::to_string(std::max<std::ptrdiff_t>(end_ - at_ - 1, 0)) +
                      " are left in the file.");
    }
    if (size == 0) return {};  // the line may end behind its length
    ++at_;
    const char* const text = at_;
    at_ += size;
    if (at_ != end_ && !is_blank(*at_)) {
      fail(field, "the text is longer than the " + std::to_string(size) +
                      " characters that its length says.");
    }
    return {text, static_cast<std::size_t>(size)};
  }

 private:
  std::string expected(const char* what) const {
    if (at_ == end_) return "the file ends where " + std::string(what) + " is expected.";
    return std::string(what) + " is expected, not " + quoted(token()) + ".";
  }

  const char* begin_;
  const char* at_;
  const char* end_;
};

void refuse_other_files(std::string_view bytes) {
  const auto whole = [](const std::string& what) { throw BadFile({.what = what}); };
  if (bytes.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos) {
    whole(bytes.empty() ? "the file is empty." : "the file has nothing but blanks.");
  }
  if (bytes.starts_with("ACIS BinaryFile") || bytes.starts_with("ASM BinaryFile")) {
    whole("the file is binary (SAB); save it as text (SAT).");
  }
  if (bytes.starts_with("PK\x03\x04"))
    whole("the file is a ZIP archive; unpack the SAT file in it.");
  if (bytes.substr(0, 4096).find('\0') != std::string_view::npos) {
    whole("the file has zero bytes in it; a SAT file is text.");
  }
}

void read_first_line(Reader& in, Header& header) {
  header.version = in.integer("version");
  if (header.version < 100 || header.version > 999999) {
    in.fail("version", std::to_string(header.version) +
                           " is no version of SAT; those that are read are 105 to 3100 and "
                           "Autodesk's 20800 to 23100.");
  }
  const std::array<std::int64_t*, 3> numbers{&header.records, &header.tops, &header.flags};
  const std::array<const char*, 3> names{"number of records", "number of entities", "flags"};
  for (std::size_t i = 0; i < numbers.size() && in.more_on_line(); ++i) {
    *numbers[i] = in.integer(names[i]);
    if (*numbers[i] < 0) in.fail(names[i], "the number is negative.");
  }
  while (in.more_on_line()) {
    header.more += ' ' + std::to_string(in.integer("numbers of the first line"));
  }
}

void read_names(Reader& in, Header& header) {
  header.product = in.string("product");
  header.kernel = in.string("kernel");
  header.date = in.string("date");
}

void read_units(Reader& in, Header& header) {
  header.millimetres = in.real("unit");
  header.resabs = in.real("resabs");
  header.resnor = in.real("resnor");
}

// Some write lengths that are not those of their texts; then the line is all that is known.
void read_names_and_units(Reader& in, Header& header) {
  const Reader before = in;
  try {
    read_names(in, header);
    read_units(in, header);
  } catch (const BadFile&) {
    Header other = header;
    Reader again = before;
    const std::string_view rest = again.rest();
    const std::string_view line = rest.substr(0, rest.find_first_of("\r\n"));
    again.skip(line.size());
    bool good = true;
    try {
      read_units(again, other);
    } catch (const BadFile&) {
      good = false;
    }
    if (!good) throw;
    header = other;
    header.product = header.kernel = header.date = "";
    header.names_line = line;
    in = again;
  }
}

}  // namespace

Header read_header(std::string_view bytes, std::size_t& end) {
  refuse_other_files(bytes);
  Reader in(bytes);
  Header header;
  read_first_line(in, header);
  // A record begins with a letter or a negative number; a length with neither.
  const char first = in.peek();
  if (first == '@' || is_digit(first)) {
    header.has_names = true;
    header.at_signs = first == '@';
    header.has_units = true;
    read_names_and_units(in, header);
    in.peek();
    if (in.token() == "T") {
      in.skip(1);
      header.has_key = true;
      header.key = in.string("key");
    }
  } else if (header.version >= 400) {
    in.fail("product", first == '\0'
                           ? "the file ends where the length of a text is expected."
                           : "the length of a text is expected, not " + quoted(in.token()) + ".");
  }
  in.peek();
  end = in.position();
  return header;
}

std::string unit_name(const Header& header) {
  struct Unit {
    double millimetres;
    const char* name;
  };
  constexpr std::array<Unit, 8> kUnits{{{1, "millimetre"},
                                        {10, "centimetre"},
                                        {1000, "metre"},
                                        {1000000, "kilometre"},
                                        {25.4, "inch"},
                                        {304.8, "foot"},
                                        {914.4, "yard"},
                                        {0.001, "micrometre"}}};
  if (!header.has_units || header.millimetres <= 0) return "not known";
  for (const Unit& each : kUnits) {
    // Writers print 25.399999999999999 too.
    const double difference = header.millimetres / each.millimetres - 1;
    if (difference > -1e-12 && difference < 1e-12) return each.name;
  }
  return "other";
}

}  // namespace sat
