// Each thread matches its own lines. The one thing to know: a regex copies the global locale when
// it is made, and its parts copy it again.
#include <cstddef>
#include <cstdint>
#include <locale>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "contention.hpp"
#include "entities.hpp"
#include "locales.hpp"

namespace {

using bench::Locale;

constexpr char pattern[] = R"((\w[\w-]*) +(\d+) +(-?\d+))";
constexpr char dots[] = "(.*) (.*) (.*)";  // cheap to make: no table of a class's characters

struct Fields {
  std::string_view kind, number, owner;
  bool operator==(const Fields&) const = default;
};

struct Line {
  std::string text, kind, number, owner;
};

std::string_view view(const std::csub_match& part) {
  return {part.first, static_cast<std::size_t>(part.length())};
}
Fields match(const std::regex& regex, const std::string& text) {
  std::cmatch found;
  if (!std::regex_match(text.data(), text.data() + text.size(), found, regex)) return {};
  return {view(found[1]), view(found[2]), view(found[3])};
}

// Matcher(one regex of all).match(line) is the fields of the line, which was put together of them.
template <class Matcher, Locale global = Locale::classic>
struct match_line {
  explicit match_line(unsigned) {
    std::locale::global(bench::locale_of(global));
    shared.assign(pattern);
  }
  struct contender {
    contender(match_line& all, unsigned thread) : matcher(all.shared) {
      const bench::Entities entities(thread + 1, 0);
      for (std::size_t i = 0; i < bench::Entities::count; ++i) {
        const auto& entity = entities.value(i);
        Line line;
        line.kind = entity.kind;
        line.number = std::to_string(entity.number);
        line.owner = std::to_string(entity.owner);
        line.text = line.kind + ' ' + line.number + ' ' + line.owner;
        lines.push_back(std::move(line));
      }
    }
    void run(std::uint64_t n) {
      for (; n != 0; --n) {
        const Line& line = lines[next];
        right += matcher.match(line.text) == Fields{line.kind, line.number, line.owner};
        next = (next + 1) % lines.size();
      }
    }
    std::string check(std::uint64_t n) const {
      return right == n ? "" : "a line was not taken apart into what it was put together of";
    }
    std::vector<Line> lines;
    Matcher matcher;
    std::uint64_t right = 0;
    std::size_t next = 0;
  };
  std::regex shared;
};

template <const char* of>
struct made_anew {
  explicit made_anew(const std::regex&) {}
  static Fields match(const std::string& text) { return ::match(std::regex(of), text); }
};

struct made_once {
  explicit made_once(const std::regex&) {}
  Fields match(const std::string& text) const { return ::match(regex, text); }
  const std::regex regex{pattern};
};

struct made_once_for_all {
  explicit made_once_for_all(const std::regex& shared) : regex(shared) {}
  Fields match(const std::string& text) const { return ::match(regex, text); }
  const std::regex& regex;
};

struct hand_written {
  explicit hand_written(const std::regex&) {}
  static bool digit(char c) { return c >= '0' && c <= '9'; }
  static bool letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || digit(c) || c == '_';
  }
  static Fields match(std::string_view text) {
    const auto take = [&text](auto belongs) {
      std::size_t length = 0;
      while (length < text.size() && belongs(text[length])) ++length;
      const std::string_view taken = text.substr(0, length);
      text.remove_prefix(length);
      return taken;
    };
    const auto blank = [](char c) { return c == ' '; };
    if (text.empty() || !letter(text.front())) return {};
    Fields fields;
    fields.kind = take([](char c) { return letter(c) || c == '-'; });
    if (take(blank).empty()) return {};
    fields.number = take(digit);
    if (fields.number.empty() || take(blank).empty()) return {};
    const std::size_t sign = !text.empty() && text.front() == '-' ? 1 : 0;
    fields.owner = text;
    text.remove_prefix(sign);
    if (take(digit).empty() || !text.empty()) return {};
    return fields;
  }
};

}  // namespace

CONTENTION_PROGRAM(
        .name = "regex_match",
        .summary = "threads that each match lines of their own against a regular expression",
        .operation = "match one line with three groups",
        .origin = "Threadmark: what else keeps a locale",
        .ways = {
            bench::usual<match_line<made_anew<pattern>>>("regex", "a regex made for each line"),
            bench::usual<match_line<made_anew<pattern>, Locale::utf8>>(
                "regex_global", "the same after locale::global(locale(\"C.UTF-8\"))"),
            bench::usual<match_line<made_anew<dots>>>(
                "dots", "a regex made for each line, of three times any characters"),
            bench::usual<match_line<made_anew<dots>, Locale::utf8>>(
                "dots_global", "the same after locale::global(locale(\"C.UTF-8\"))"),
            bench::remedy<match_line<made_once>>("once", "a regex of each thread, made once"),
            bench::remedy<match_line<made_once, Locale::utf8>>(
                "once_global", "the same after locale::global(locale(\"C.UTF-8\"))"),
            bench::usual<match_line<made_once_for_all>>("shared", "one const regex of all threads"),
            bench::usual<match_line<made_once_for_all, Locale::utf8>>(
                "shared_global", "the same after locale::global(locale(\"C.UTF-8\"))"),
            bench::remedy<match_line<hand_written>>("hand_written", "a loop over the characters"),
        })
