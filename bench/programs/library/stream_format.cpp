// may use: tmk : tmk::tmk : HAS_TMK
// may use: fmt : fmt::fmt-header-only : HAS_FMT
// A record of words, integers and reals, written as text into memory of one thread. The one thing
// to know: a new stream takes the process's global locale, and counts itself among its users.
// (long because every library's way of formatting is here)
#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <locale>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <version>
#if defined(HAS_FMT)
#include <fmt/format.h>
#endif
#if defined(__cpp_lib_format)
#include <format>
#endif
#if defined(HAS_TMK)
#include <tmk/text.hpp>
#endif

#include "contention.hpp"
#include "entities.hpp"
#include "locales.hpp"

namespace {

using bench::Entity;
using bench::Locale;

// Writer(imbued).write(entity) is its text, or the text of its number. Both are made of digits in
// entities.hpp.
template <class Writer, Locale global = Locale::classic, Locale imbued = Locale::classic>
struct format {
  explicit format(unsigned) { std::locale::global(bench::locale_of(global)); }
  struct contender {
    contender(format& all, unsigned thread) : entities(thread + 1, 3), writer(all.shared) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) {
        right += writer.write(entities.value(next)) == text(next);
        next = (next + 1) % bench::Entities::count;
      }
    }
    std::string check(std::uint64_t n) const {
      return right == n ? "" : "the text of a record is not the one that its digits make";
    }
    std::string_view text(std::size_t i) const {
      const std::string_view all = entities.text(i);
      if constexpr (!requires { Writer::number_alone; }) return all;
      const std::size_t begin = all.find(' ') + 1;
      return all.substr(begin, all.find(' ', begin) - begin);
    }
    bench::Entities entities;
    Writer writer;
    std::uint64_t right = 0;
    std::size_t next = 0;
  };
  const std::locale shared = bench::locale_of(imbued);
};

template <class Out>
void insert(Out& out, const Entity& entity) {
  out << entity.kind << ' ' << entity.number << ' ' << entity.owner;
  for (const double real : entity.reals) out << ' ' << real;
  out << ' ' << entity.sense;
}

struct made_anew {
  explicit made_anew(const std::locale&) {}
  static std::string write(const Entity& entity) {
    std::ostringstream out;
    insert(out, entity);
    return std::move(out).str();
  }
};

// Kept: the locale that all threads share, by reference, or one of the thread's own.
template <class Kept>
struct made_anew_and_imbued {
  explicit made_anew_and_imbued(const std::locale& shared) : locale(shared) {}
  std::string write(const Entity& entity) const {
    std::ostringstream out;
    out.imbue(locale);
    insert(out, entity);
    return std::move(out).str();
  }
  Kept locale;
};

using imbued_shared = made_anew_and_imbued<const std::locale&>;
using imbued_own = made_anew_and_imbued<bench::OwnLocale>;

struct reseated {
  explicit reseated(const std::locale&) {}
  auto write(const Entity& entity) {
    out.seekp(0);
    insert(out, entity);
    return bench::written(out).substr(0, static_cast<std::size_t>(out.tellp()));
  }
  std::ostringstream out;
};

struct number_alone_made_anew {
  static constexpr bool number_alone = true;
  explicit number_alone_made_anew(const std::locale&) {}
  static std::string write(const Entity& entity) {
    std::ostringstream out;
    out << entity.number;
    return std::move(out).str();
  }
};

// Longer than any record.
using Line = std::array<char, 256>;

struct by_snprintf {
  explicit by_snprintf(const std::locale&) {}
  std::string_view write(const Entity& entity) {
    const auto& [kind, number, owner, real, sense] = entity;
    const int length = std::snprintf(line.data(), line.size(), "%s %ld %d %g %g %g %g %g %g %s",
                                     kind.c_str(), number, owner, real[0], real[1], real[2],
                                     real[3], real[4], real[5], sense.c_str());
    return {line.data(), static_cast<std::size_t>(length)};
  }
  Line line;
};

#if defined(HAS_FMT)
struct by_fmt {
  explicit by_fmt(const std::locale&) {}
  std::string_view write(const Entity& entity) {
    const auto& [kind, number, owner, real, sense] = entity;
    const auto end =
        fmt::format_to(line.data(), "{} {} {} {} {} {} {} {} {} {}", kind, number, owner, real[0],
                       real[1], real[2], real[3], real[4], real[5], sense);
    return {line.data(), end};
  }
  Line line;
};
#endif

#if defined(__cpp_lib_format)
struct by_format {
  explicit by_format(const std::locale&) {}
  std::string_view write(const Entity& entity) {
    const auto& [kind, number, owner, real, sense] = entity;
    const auto end =
        std::format_to(line.data(), "{} {} {} {} {} {} {} {} {} {}", kind, number, owner, real[0],
                       real[1], real[2], real[3], real[4], real[5], sense);
    return {line.data(), end};
  }
  Line line;
};
#endif

#if defined(HAS_TMK)
struct by_otext {
  explicit by_otext(const std::locale&) {}
  std::string_view write(const Entity& entity) {
    tmk::otext out(line);
    insert(out, entity);
    return out.view();
  }
  Line line;
};
#endif

struct by_to_chars {
  explicit by_to_chars(const std::locale&) {}
  std::string_view write(const Entity& entity) {
    at = line.data();
    word(entity.kind);
    number(entity.number);
    number(entity.owner);
    for (const double real : entity.reals) number(real);
    *at++ = ' ';
    word(entity.sense);
    return {line.data(), at};
  }
  void word(const std::string& word) { at = std::copy(word.begin(), word.end(), at); }
  template <class Number>
  void number(Number value) {
    *at++ = ' ';
    const auto [end, error] = std::to_chars(at, line.data() + line.size(), value);
    if (error != std::errc{}) throw std::runtime_error("a record is longer than its line");
    at = end;
  }
  Line line;
  char* at = nullptr;
};

struct number_alone_by_to_chars : by_to_chars {
  static constexpr bool number_alone = true;
  using by_to_chars::by_to_chars;
  std::string_view write(const Entity& entity) {
    at = line.data();
    number(entity.number);
    return {line.data() + 1, at};  // without the blank
  }
};

bench::Way fmt_way() {
  constexpr std::string_view meaning = "fmt::format_to";
#if defined(HAS_FMT)
  return bench::remedy<format<by_fmt>>("fmt", meaning);
#else
  return bench::lacking("fmt", meaning, "fmt was not found: install libfmt-dev and build again");
#endif
}

bench::Way format_way() {
  constexpr std::string_view meaning = "std::format_to";
#if defined(__cpp_lib_format)
  return bench::remedy<format<by_format>>("format", meaning);
#else
  return bench::lacking("format", meaning,
                        "this library has no <format>; libstdc++ has it from 13 on");
#endif
}

bench::Way otext_way() {
  constexpr std::string_view meaning =
      "tmk::otext into an array, after locale::global(locale(\"C.UTF-8\"))";
#if defined(HAS_TMK)
  return bench::remedy<format<by_otext, Locale::utf8>>("otext_global", meaning);
#else
  return bench::lacking("otext_global", meaning, "tmk needs Linux");
#endif
}

}  // namespace

CONTENTION_PROGRAM(
        .name = "stream_format",
        .summary = "threads that each write records as text into memory of their own",
        .operation = "write one record: two words, two integers, six reals; number: one integer",
        .origin = "R. Lygin, Parallelizing C++ streams (2009), in the other direction",
        .ways = {
            bench::usual<format<made_anew>>("ostringstream", "an ostringstream for each record"),
            bench::usual<format<made_anew, Locale::utf8>>(
                "ostringstream_global", "the same after locale::global(locale(\"C.UTF-8\"))"),
            bench::usual<format<imbued_shared, Locale::classic, Locale::utf8>>(
                "ostringstream_imbued", "the same, imbued with one locale(\"C.UTF-8\") of all"),
            bench::usual<format<imbued_own, Locale::classic, Locale::utf8>>(
                "ostringstream_own", "the same, imbued with a locale(\"C.UTF-8\") per thread"),
            bench::usual<format<imbued_own, Locale::utf8, Locale::utf8>>(
                "ostringstream_own_global",
                "ostringstream_global, imbued with a locale per thread"),
            bench::remedy<format<reseated>>("reseated", "one ostringstream, set to its start"),
            bench::remedy<format<reseated, Locale::utf8>>(
                "reseated_global", "the same after locale::global(locale(\"C.UTF-8\"))"),
            bench::remedy<format<by_snprintf>>("snprintf", "snprintf"),
            fmt_way(),
            format_way(),
            bench::remedy<format<by_to_chars>>("to_chars", "to_chars, reals in the shortest form"),
            bench::remedy<format<by_to_chars, Locale::utf8>>(
                "to_chars_global", "the same after locale::global(locale(\"C.UTF-8\"))"),
            otext_way(),
            bench::usual<format<number_alone_made_anew>>("number",
                                                         "an ostringstream for one integer"),
            bench::usual<format<number_alone_made_anew, Locale::utf8>>(
                "number_global", "the same after locale::global(locale(\"C.UTF-8\"))"),
            bench::remedy<format<number_alone_by_to_chars, Locale::utf8>>(
                "number_to_chars", "to_chars for one integer"),
        })
