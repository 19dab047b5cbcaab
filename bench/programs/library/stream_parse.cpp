// may use: tmk : tmk::tmk : HAS_TMK
// A record of words, integers and reals, read from text that belongs to one thread. The one thing
// to know: a new stream takes the process's global locale, and counts itself among its users.
#include <charconv>
#include <cstdlib>
#include <locale>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <version>
#if defined(__cpp_lib_spanstream)
#include <spanstream>
#endif
#if defined(HAS_TMK)
#include <tmk/text.hpp>
#endif

#include "contention.hpp"
#include "entities.hpp"
#include "locales.hpp"

namespace {

using bench::Entity;
using bench::EntityView;
using bench::Locale;

// Reader(imbued).read(text) is the digest of what it has read.
template <class Reader, Locale global = Locale::classic, Locale imbued = Locale::classic>
struct parse {
  explicit parse(unsigned) { std::locale::global(bench::locale_of(global)); }
  struct contender {
    contender(parse& all, unsigned thread) : entities(thread + 1, 9), reader(all.shared) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) {
        sum += reader.read(entities.text(next));
        next = (next + 1) % bench::Entities::count;
      }
    }
    std::string check(std::uint64_t n) const {
      return sum == entities.sum(n) ? "" : "a record was read that is not the one that was written";
    }
    bench::Entities entities;
    Reader reader;
    std::uint64_t sum = 0;
    std::size_t next = 0;
  };
  const std::locale shared = bench::locale_of(imbued);
};

template <class In>
std::uint64_t extract(In& in) {
  Entity entity;
  in >> entity.kind >> entity.number >> entity.owner;
  for (double& real : entity.reals) in >> real;
  in >> entity.sense;
  if (!in) throw std::runtime_error("a stream could not read a record");
  return entity.digest();
}

struct made_anew {
  explicit made_anew(const std::locale&) {}
  static std::uint64_t read(const std::string& text) {
    std::istringstream in(text);
    return extract(in);
  }
};

// Kept: the locale that all threads share, by reference, or one of the thread's own.
template <class Kept>
struct made_anew_and_imbued {
  explicit made_anew_and_imbued(const std::locale& shared) : locale(shared) {}
  std::uint64_t read(const std::string& text) const {
    std::istringstream in(text);
    in.imbue(locale);
    return extract(in);
  }
  Kept locale;
};

using imbued_shared = made_anew_and_imbued<const std::locale&>;
using imbued_own = made_anew_and_imbued<bench::OwnLocale>;

struct reseated {
  explicit reseated(const std::locale&) {}
  std::uint64_t read(const std::string& text) {
    in.clear();
    in.str(text);
    return extract(in);
  }
  std::istringstream in;
};

#if defined(__cpp_lib_spanstream)
struct spanstream {
  explicit spanstream(const std::locale&) {}
  std::uint64_t read(const std::string& text) {
    in.clear();
    in.span(text);
    return extract(in);
  }
  std::ispanstream in{std::span<const char>()};
};
#endif

#if defined(HAS_TMK)
struct by_itext {
  explicit by_itext(const std::locale&) {}
  static std::uint64_t read(const std::string& text) {
    tmk::itext in(text);
    return extract(in);
  }
};
#endif

// What is left of a text whose parts are read one after the other, none of them with a stream.
struct Rest {
  const char* at;
  const char* end;

  std::string_view word() {
    while (at != end && *at == ' ') ++at;
    const char* const begin = at;
    while (at != end && *at != ' ') ++at;
    return {begin, at};
  }
  static void expect(bool read) {
    if (!read) throw std::runtime_error("a number could not be read");
  }
};

struct by_strtod {
  explicit by_strtod(const std::locale&) {}
  static std::uint64_t read(const std::string& text) {
    Rest rest{text.data(), text.data() + text.size()};
    EntityView entity;
    entity.kind = rest.word();
    entity.number = integer(rest);
    entity.owner = static_cast<int>(integer(rest));
    for (double& real : entity.reals) real = number(rest);
    entity.sense = rest.word();
    return entity.digest();
  }
  static long integer(Rest& rest) {
    char* end = nullptr;
    const long value = std::strtol(rest.at, &end, 10);
    Rest::expect(end != rest.at);
    rest.at = end;
    return value;
  }
  static double number(Rest& rest) {
    char* end = nullptr;
    const double value = std::strtod(rest.at, &end);
    Rest::expect(end != rest.at);
    rest.at = end;
    return value;
  }
};

struct by_from_chars {
  explicit by_from_chars(const std::locale&) {}
  static std::uint64_t read(const std::string& text) {
    Rest rest{text.data(), text.data() + text.size()};
    EntityView entity;
    entity.kind = rest.word();
    number(rest, entity.number);
    number(rest, entity.owner);
    for (double& real : entity.reals) {
#if defined(__cpp_lib_to_chars)
      number(rest, real);
#else
      real = by_strtod::number(rest);
#endif
    }
    entity.sense = rest.word();
    return entity.digest();
  }
  template <class Number>
  static void number(Rest& rest, Number& value) {
    while (rest.at != rest.end && *rest.at == ' ') ++rest.at;
    const auto [end, error] = std::from_chars(rest.at, rest.end, value);
    Rest::expect(error == std::errc{});
    rest.at = end;
  }
};

#if defined(__cpp_lib_to_chars)
constexpr std::string_view from_chars_meaning = "from_chars";
#else
constexpr std::string_view from_chars_meaning =
    "from_chars, and strtod for reals, which this library's from_chars does not read";
#endif
bench::Way spanstream_way() {
  constexpr std::string_view meaning = "one spanstream that is set to each record's text";
#if defined(__cpp_lib_spanstream)
  return bench::remedy<parse<spanstream>>("spanstream", meaning);
#else
  return bench::lacking("spanstream", meaning,
                        "this library has no <spanstream>; libstdc++ has it from 12 on");
#endif
}

bench::Way itext_way() {
  constexpr std::string_view meaning =
      "a tmk::itext for each record, after locale::global(locale(\"C.UTF-8\"))";
#if defined(HAS_TMK)
  return bench::remedy<parse<by_itext, Locale::utf8>>("itext_global", meaning);
#else
  return bench::lacking("itext_global", meaning, "tmk needs Linux");
#endif
}

}  // namespace

CONTENTION_PROGRAM(
        .name = "stream_parse", .summary = "threads that each read records from text of their own",
        .operation = "read one record: two words, two integers, six reals",
        .origin = "R. Lygin, Parallelizing C++ streams (2009)",
        .ways = {
            bench::usual<parse<made_anew>>("istringstream", "an istringstream for each record"),
            bench::usual<parse<made_anew, Locale::utf8>>(
                "istringstream_global", "the same after locale::global(locale(\"C.UTF-8\"))"),
            bench::usual<parse<imbued_shared, Locale::classic, Locale::utf8>>(
                "istringstream_imbued", "the same, imbued with one locale(\"C.UTF-8\") of all"),
            bench::usual<parse<imbued_own, Locale::classic, Locale::utf8>>(
                "istringstream_own", "the same, imbued with a locale(\"C.UTF-8\") per thread"),
            bench::usual<parse<imbued_own, Locale::utf8, Locale::utf8>>(
                "istringstream_own_global",
                "istringstream_global, imbued with a locale per thread"),
            bench::usual<parse<imbued_shared, Locale::utf8, Locale::classic>>(
                "classic_imbued", "istringstream_global, imbued with the classic locale"),
            bench::remedy<parse<reseated>>("reseated",
                                           "one istringstream, given each record's text"),
            bench::remedy<parse<reseated, Locale::utf8>>(
                "reseated_global", "the same after locale::global(locale(\"C.UTF-8\"))"),
            spanstream_way(),
            bench::remedy<parse<by_strtod>>("strtod", "strtol and strtod"),
            bench::remedy<parse<by_from_chars>>("from_chars", from_chars_meaning),
            bench::remedy<parse<by_from_chars, Locale::utf8>>(
                "from_chars_global", "the same after locale::global(locale(\"C.UTF-8\"))"),
            itext_way(),
        })
