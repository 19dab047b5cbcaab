// Threads that each make a std::locale. The one thing to know: std::locale is a counted pointer,
// and the default constructor reads the pointer that locale::global replaces.
#include <cstdint>
#include <locale>
#include <string>

#include "contention.hpp"
#include "locales.hpp"
#include "opaque.hpp"

namespace {

using bench::Locale;

// Source(own).get() is the locale, or a reference to one, that the operation uses: it is asked for
// a property of `letter`, as a stream does.
template <class Source, Locale global = Locale::classic, Locale kept = Locale::classic>
struct use_locale {
  explicit use_locale(unsigned) { std::locale::global(bench::locale_of(global)); }
  struct contender {
    contender(use_locale& all, unsigned) : source(all.shared) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) {
        const std::locale& locale = source.get();  // keeps a temporary to the end of the block
        bench::escape(&locale);
        upper += std::use_facet<std::ctype<char>>(locale).toupper(bench::opaque('m')) == 'M';
      }
    }
    std::string check(std::uint64_t n) const {
      const std::string expected = Source::name(global, kept);
      if (const std::locale& locale = source.get(); locale.name() != expected)
        return "the locale is " + locale.name() + ", not " + expected;
      return upper == n ? "" : "a letter was not turned into its capital";
    }
    Source source;
    std::uint64_t upper = 0;
  };
  const std::locale shared = bench::locale_of(kept);
};

std::string name_of(Locale which) { return which == Locale::classic ? "C" : "C.UTF-8"; }

struct by_default {
  explicit by_default(const std::locale&) {}
  static std::locale get() { return std::locale(); }
  static std::string name(Locale global, Locale) { return name_of(global); }
};

struct copied {
  explicit copied(const std::locale& of) : shared(of) {}
  std::locale get() const { return shared; }
  static std::string name(Locale, Locale kept) { return name_of(kept); }
  const std::locale& shared;
};

struct by_name {
  explicit by_name(const std::locale&) {}
  static std::locale get() { return bench::locale_of(Locale::utf8); }
  static std::string name(Locale, Locale) { return name_of(Locale::utf8); }
};

struct kept_per_thread {
  explicit kept_per_thread(const std::locale&) {}
  const std::locale& get() const { return own; }
  static std::string name(Locale global, Locale) { return name_of(global); }
  const std::locale own;  // the global one when this thread's contender was made
};

}  // namespace

CONTENTION_PROGRAM(
        .name = "locale_copy", .summary = "threads that each make a std::locale and destroy it",
        .operation = "make a locale, ask it for a capital letter, destroy it",
        .origin = "R. Lygin, Parallelizing C++ streams (2009): what its streams did inside",
        .ways = {
            bench::usual<use_locale<by_default>>("locale",
                                                 "locale() while the global one is classic"),
            bench::usual<use_locale<by_default, Locale::utf8>>(
                "locale_global", "locale() after locale::global(locale(\"C.UTF-8\"))"),
            bench::usual<use_locale<copied>>("copy_classic", "a copy of locale::classic()"),
            bench::usual<use_locale<copied, Locale::classic, Locale::utf8>>(
                "copy_shared", "a copy of one locale(\"C.UTF-8\") of all threads"),
            bench::usual<use_locale<by_name>>("by_name", "locale(\"C.UTF-8\") made by its name"),
            bench::remedy<use_locale<kept_per_thread, Locale::utf8>>(
                "kept", "locale_global, made once per thread and used by reference"),
        })
