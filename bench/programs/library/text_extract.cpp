// may use: tmk : tmk::tmk : HAS_TMK
// Records of words and numbers, each read from text that belongs to one thread: with a string
// stream for each record, by hand, and with the type that takes the stream's place. The one thing
// to know: half of the reals have 17 digits, like the output of a program that reads them back; the
// others are short.
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "contention.hpp"
#include "random.hpp"

#if defined(HAS_TMK)
#include <tmk/text.hpp>
#endif

namespace {

constexpr std::size_t kRecords = 64;
constexpr std::size_t kReals = 4;

// What was read, of which no bit may be wrong.
template <class Word>
struct Record {
  Word kind;
  long number = 0;
  unsigned flags = 0;  // hexadecimal
  std::array<double, kReals> reals{};
  Word name;

  std::uint64_t digest() const {
    std::uint64_t sum = static_cast<std::uint64_t>(number) * 3 + std::uint64_t{flags} * 5;
    for (const double real : reals) sum = sum * 31 + std::bit_cast<std::uint64_t>(real);
    for (const Word& word : {kind, name}) {
      sum = sum * 31 + word.size() * 256 + static_cast<unsigned char>(word.back());
    }
    return sum;
  }
};

// The texts of one thread, with what reading them must give: the sum of the first i digests.
struct Texts {
  explicit Texts(unsigned seed) {
    static constexpr std::string_view kKinds[] = {"edge", "vertex", "straight-curve",
                                                  "cone-surface"};
    bench::Random random(seed + 1);
    for (std::size_t i = 0; i < kRecords; ++i) {
      Record<std::string_view> record;
      record.kind = kKinds[random.below(4)];
      record.number = static_cast<long>(random.below(2'000'000)) - 1'000'000;
      record.flags = random.below(1 << 16);
      record.name = kKinds[random.below(4)];
      char text[256];
      int size = std::snprintf(text, sizeof text, "%s %ld %x", record.kind.data(), record.number,
                               record.flags);
      for (std::size_t real = 0; real < kReals; ++real) {
        const bool is_short = real % 2 == 0;  // sixteenths have at most four decimals
        record.reals[real] =
            is_short ? (random.below(200'000) - 1e5) / 16 : random.unit() * 200 - 100;
        size += std::snprintf(text + size, sizeof text - static_cast<std::size_t>(size),
                              is_short ? " %.4f" : " %.17g", record.reals[real]);
      }
      size += std::snprintf(text + size, sizeof text - static_cast<std::size_t>(size), " %s\n",
                            record.name.data());
      texts[i].assign(text, static_cast<std::size_t>(size));
      sums[i + 1] = sums[i] + record.digest();
    }
  }
  std::uint64_t sum(std::uint64_t n) const {
    return n / kRecords * sums[kRecords] + sums[n % kRecords];
  }
  std::array<std::string, kRecords> texts;
  std::array<std::uint64_t, kRecords + 1> sums{};
};

// Reader::read(text) is the digest of what it has read.
template <class Reader>
struct extract {
  explicit extract(unsigned) {}
  struct contender {
    contender(extract&, unsigned thread) : texts(thread) {}
    void run(std::uint64_t n) {
      for (; n != 0; --n) {
        sum += Reader::read(texts.texts[next]);
        next = (next + 1) % kRecords;
      }
    }
    std::string check(std::uint64_t n) const {
      return sum == texts.sum(n) ? "" : "a record was read that is not the one that was written";
    }
    Texts texts;
    std::uint64_t sum = 0;
    std::size_t next = 0;
  };
};

void expect(bool read) {
  if (!read) throw std::runtime_error("a record could not be read");
}

template <class In, class Word>
std::uint64_t read_all(In in) {
  Record<Word> record;
  in >> record.kind >> record.number >> std::hex >> record.flags >> std::dec;
  for (double& real : record.reals) in >> real;
  in >> record.name;
  expect(!in.fail());
  return record.digest();
}

struct istringstream {
  static std::uint64_t read(const std::string& text) {
    return read_all<std::istringstream, std::string>(std::istringstream(text));
  }
};

struct hand_written {
  static std::uint64_t read(const std::string& text) {
    hand_written rest{text.data(), text.data() + text.size()};
    Record<std::string_view> record;
    record.kind = rest.word();
    rest.number(record.number, 10);
    rest.number(record.flags, 16);
    for (double& real : record.reals) rest.real(real);
    record.name = rest.word();
    return record.digest();
  }
  void skip() {
    while (at != end && *at == ' ') ++at;
  }
  std::string_view word() {
    skip();
    const char* const begin = at;
    while (at != end && *at != ' ' && *at != '\n') ++at;
    expect(at != begin);
    return {begin, at};
  }
  template <class T>
  void number(T& value, int base) {
    skip();
    const std::from_chars_result result = std::from_chars(at, end, value, base);
    expect(result.ec == std::errc{});
    at = result.ptr;
  }
  template <class T>
  void real(T& value) {
    skip();
    if constexpr (requires { std::from_chars(at, end, value); }) {
      const std::from_chars_result result = std::from_chars(at, end, value);
      expect(result.ec == std::errc{});
      at = result.ptr;
    } else {
      char* stop = nullptr;
      value = std::strtod(at, &stop);
      expect(stop != at);
      at = stop;
    }
  }
  const char* at;
  const char* end;
};

#if defined(HAS_TMK)
struct tmk_text {
  static std::uint64_t read(const std::string& text) {
    return read_all<tmk::itext, std::string_view>(tmk::itext(text));
  }
};

struct tmk_text_strings {
  static std::uint64_t read(const std::string& text) {
    return read_all<tmk::itext, std::string>(tmk::itext(text));
  }
};
#endif

std::vector<bench::Way> ways() {
  constexpr std::string_view meaning = "tmk::itext in its place, with words as string_view";
  constexpr std::string_view strings = "only the type's name changed: words are std::string";
  return {
      bench::usual<extract<istringstream>>("istringstream",
                                           "a std::istringstream made for each record"),
      bench::usual<extract<hand_written>>(
          "hand_written", "from_chars for each field, strtod where there is none for reals"),
#if defined(HAS_TMK)
      bench::remedy<extract<tmk_text>>("tmk_text", meaning),
      bench::remedy<extract<tmk_text_strings>>("tmk_text_strings", strings),
#else
      bench::lacking("tmk_text", meaning, "tmk needs Linux"),
      bench::lacking("tmk_text_strings", strings, "tmk needs Linux"),
#endif
  };
}

}  // namespace

CONTENTION_PROGRAM(
        .name = "text_extract", .summary = "records read from text that belongs to one thread",
        .operation = "read a record of two words, two integers and four reals",
        .origin = "Lygin, Parallelizing C++ streams: >> from a stream around a record of a file",
        .ways = ways())
