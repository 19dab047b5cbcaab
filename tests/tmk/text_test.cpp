// tmk::itext against std::istringstream of the classic locale, on random and on awkward characters:
// the same value, the same state, the same place; its rounding against the C library's; tmk::otext
// against std::ostringstream. On libc++ the tests omit inputs that its streams read otherwise, see
// same_float.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <charconv>
#include <climits>
#include <clocale>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iomanip>
#include <limits>
#include <locale>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <vector>

#include "support.hpp"
#include "tmk/text.hpp"

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COUNTS_MALLOC 1
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#undef COUNTS_MALLOC
#endif
#endif
#endif

#ifdef COUNTS_MALLOC
// Every allocation of the process: operator new comes here too. One size can be refused.
static std::atomic<std::size_t> allocations{0}, refused_size{0};
extern "C" void* __libc_malloc(std::size_t);
extern "C" void* malloc(std::size_t size) {
  ++allocations;
  return size == refused_size ? nullptr : __libc_malloc(size);
}
#endif

namespace {

using Random = std::mt19937_64;

#if defined(_LIBCPP_VERSION)
constexpr bool libcxx = true;
#else
constexpr bool libcxx = false;
#endif

std::size_t below(Random& random, std::size_t n) { return random() % n; }

std::string shown(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, byte < 32 || byte > 126 ? "\\x%02x" : "%c", byte);
    result += escaped;
  }
  return result.size() > 300 ? result.substr(0, 300) + "..." : result;
}

std::istringstream stream_of(std::string_view text) {
  std::istringstream stream{std::string(text)};
  stream.imbue(std::locale::classic());
  return stream;
}

std::size_t place(std::istringstream& in) {
  return static_cast<std::size_t>(
      std::streamoff(in.rdbuf()->pubseekoff(0, std::ios::cur, std::ios::in)));
}

// The same bits; all values that are no number count as equal.
template <class T>
bool same(const T& a, const T& b) {
  if constexpr (std::floating_point<T>) {
    return (a != a && b != b) || (a == b && std::signbit(a) == std::signbit(b));
  } else {
    return a == b;
  }
}

// The deviations of libc++'s num_get: it takes more characters than a number can have ("1abc" is
// none, "40x" in hexadecimal neither), reads hexadecimal floating numbers, fails if
// the number is subnormal, stores infinity if it is too big, and forgets eofbit if a bool is
// neither 0 nor 1.
template <class T>
bool libcxx_differs(std::string_view from, const T& value, std::string_view rest) {
  if constexpr (std::floating_point<T>) {
    const std::string_view number = from.substr(0, from.size() - rest.size());
    if (!rest.empty() &&
        std::string_view("0123456789abcdefABCDEFxX+-pP.").find(rest[0]) != std::string_view::npos) {
      return true;
    }
    const bool tiny = std::abs(value) < 2 * std::numeric_limits<T>::min() &&
                      number.find_first_of("123456789") != std::string_view::npos;
    return std::abs(value) >= std::numeric_limits<T>::max() || tiny;
  } else if constexpr (tmk::detail::integer<T> || std::same_as<T, bool>) {
    return (std::same_as<T, bool> && value && rest.empty()) || rest.starts_with('x') ||
           rest.starts_with('X');
  } else {
    return false;
  }
}

// Extracts from both. False: they differ in a documented way, and the comparison ends here.
template <class T>
bool extract(tmk::itext& ours, std::istringstream& theirs, T untouched) {
  T our_value = untouched;
  T their_value = untouched;
  const std::string_view from = ours.rest();
  const std::string context = shown(from);
  ours >> our_value;
  theirs >> their_value;
  if (libcxx && libcxx_differs(from, our_value, ours.rest())) return false;
  EXPECT_TRUE(same(our_value, their_value))
      << context << ": " << our_value << " instead of " << their_value << " as "
      << testing::internal::GetTypeName<T>();
  EXPECT_EQ(ours.rdstate(), theirs.rdstate()) << context;
  EXPECT_EQ(ours.position(), place(theirs)) << context;
  return !testing::Test::HasFailure();
}

bool extract_any(Random& random, tmk::itext& ours, std::istringstream& theirs) {
  switch (below(random, 18)) {
    case 0:
      return extract<short>(ours, theirs, 77);
    case 1:
      return extract<unsigned short>(ours, theirs, 77);
    case 2:
      return extract<int>(ours, theirs, 77);
    case 3:
      return extract<unsigned>(ours, theirs, 77);
    case 4:
      return extract<long>(ours, theirs, 77);
    case 5:
      return extract<unsigned long>(ours, theirs, 77);
    case 6:
      return extract<long long>(ours, theirs, 77);
    case 7:
      return extract<unsigned long long>(ours, theirs, 77);
    case 8:
      return extract<bool>(ours, theirs, true);
    case 9:
      return extract<char>(ours, theirs, '~');
    case 10:
      return extract<unsigned char>(ours, theirs, '~');
    case 11:
      return extract<std::string>(ours, theirs, "untouched");
    case 12:
      return extract<float>(ours, theirs, 77);
    case 13:
      return extract<long double>(ours, theirs, 77);
    default:
      return extract<double>(ours, theirs, 77);
  }
}

template <class Text>
void set_mode(Text& in, std::size_t which) {
  switch (which) {
    case 0:
      in >> std::hex;
      break;
    case 1:
      in >> std::oct;
      break;
    case 2:
      in >> std::noskipws;
      break;
    case 3:
      in >> std::skipws;
      break;
    case 4:
      in >> std::ws;
      break;
    default:
      in >> std::dec;
  }
}

void read_to_the_end(Random& random, std::string_view text) {
  SCOPED_TRACE(shown(text));
  tmk::itext ours(text);
  std::istringstream theirs = stream_of(text);
  for (std::size_t step = 0; step < 4 + text.size() / 4; ++step) {
    if (below(random, 3) == 0) {
      const std::size_t mode = below(random, 8);
      set_mode(ours, mode);
      set_mode(theirs, mode);
      ASSERT_EQ(ours.rdstate(), theirs.rdstate());
    }
    if (!extract_any(random, ours, theirs)) return;
    if (!ours.good() && below(random, 4) != 0) {
      ours.clear();
      theirs.clear();
      if (below(random, 2) == 0) {
        ASSERT_EQ(ours.get(), theirs.get());
      }
    }
  }
}

constexpr std::string_view kSpace = " \t\n\v\f\r";

std::string digits(Random& random, std::size_t most) {
  std::string text;
  for (std::size_t n = below(random, most + 1); n != 0; --n) {
    text += static_cast<char>('0' + (below(random, 3) == 0 ? 0 : below(random, 10)));
  }
  return text;
}

// A text that is a number or almost one.
std::string numberlike(Random& random) {
  static constexpr std::string_view kSigns[] = {"", "", "", "-", "+", "+-", "--"};
  static constexpr std::string_view kPoints[] = {"", ".", ".", "..", ","};
  static constexpr std::string_view kExponents[] = {"", "", "e", "E", "e+", "e-", "E+-", "p", "ee"};
  static constexpr std::string_view kPrefixes[] = {"", "", "", "0x", "0X", "00x", "0"};
  std::string text(kSigns[below(random, std::size(kSigns))]);
  text += kPrefixes[below(random, std::size(kPrefixes))];
  text += digits(random, below(random, 8) == 0 ? 60 : 12);
  text += kPoints[below(random, std::size(kPoints))];
  text += digits(random, below(random, 8) == 0 ? 60 : 9);
  text += kExponents[below(random, std::size(kExponents))];
  text += digits(random, below(random, 8) == 0 ? 20 : 3);
  return text;
}

std::string soup(Random& random) {
  using std::operator""sv;
  static constexpr std::string_view kLetters = "0123456789+-.eExXaAfFpPnNiI,\0 \t\n\x80\xff z"sv;
  std::string text;
  for (std::size_t n = below(random, 24); n != 0; --n) {
    text += kLetters[below(random, kLetters.size())];
  }
  return text;
}

TEST(Itext, reads_what_a_string_stream_reads_from_random_characters) {
  Random random(1);
  for (int i = 0; i < (support::sanitized ? 4'000 : 40'000) && !HasFailure(); ++i) {
    std::string text;
    for (std::size_t words = below(random, 5); words != 0; --words) {
      for (std::size_t n = below(random, 3); n != 0; --n) text += kSpace[below(random, 6)];
      text += below(random, 3) == 0 ? soup(random) : numberlike(random);
    }
    if (below(random, 2) == 0) text += '\n';
    read_to_the_end(random, text);
  }
}

TEST(Itext, reads_what_a_string_stream_reads_from_awkward_characters) {
  using std::operator""sv;
  static constexpr std::string_view kAwkward[] = {
      ""sv,
      " "sv,
      "\n"sv,
      "\0"sv,
      "1\0002"sv,
      "+"sv,
      "-"sv,
      "."sv,
      "-."sv,
      "e5"sv,
      ".e5"sv,
      "1e"sv,
      "1e+"sv,
      "1E-"sv,
      "1e+ 5"sv,
      "1.e5"sv,
      ".5"sv,
      "5."sv,
      "+.5e-1"sv,
      "1..2"sv,
      "1.2.3"sv,
      "1e5.5"sv,
      "1e5e5"sv,
      "1ee5"sv,
      "0x"sv,
      "0X "sv,
      "0x1"sv,
      "-0x1F"sv,
      "+0xg"sv,
      "00x1"sv,
      "0x0x1"sv,
      "0x1p3"sv,
      "0x1.8p1"sv,
      "inf"sv,
      "-inf"sv,
      "nan"sv,
      "nan(1)"sv,
      "INFINITY"sv,
      "-0"sv,
      "-0.0"sv,
      "+0e9999999999999999999"sv,
      "0.0000e-99999999999999999999999"sv,
      "1e400"sv,
      "-1e400"sv,
      "1e-400"sv,
      "1e99999999999999999999999"sv,
      "1e-99999999999999999999999"sv,
      "3.4028235e38"sv,
      "3.4028236e38"sv,
      "1e39"sv,
      "-1e39"sv,
      "1e-45"sv,
      "1e-46"sv,
      "1.17549435e-38"sv,
      "32767"sv,
      "32768"sv,
      "-32768"sv,
      "-32769"sv,
      "65535"sv,
      "65536"sv,
      "-65535"sv,
      "-65536"sv,
      "2147483647"sv,
      "2147483648"sv,
      "-2147483648"sv,
      "-2147483649"sv,
      "4294967295"sv,
      "4294967296"sv,
      "-4294967295"sv,
      "-4294967296"sv,
      "9223372036854775807"sv,
      "9223372036854775808"sv,
      "-9223372036854775808"sv,
      "-9223372036854775809"sv,
      "18446744073709551615"sv,
      "18446744073709551616"sv,
      "-18446744073709551615"sv,
      "-18446744073709551616"sv,
      "000000000000000000000000000000000000012"sv,
      "0000000000000000000000.0000000000000000000000000012"sv,
      "99999999999999999999999999"sv,
      "ffffffffffffffff"sv,
      "10000000000000000"sv,
      "0x00000000000000000000ff"sv,
      "1777777777777777777777"sv,
      "2000000000000000000000"sv,
      "0000000000000000000000000017"sv,
      "789"sv,
      "1,000"sv,
      "1_000"sv,
      "1'000"sv,
      "12abc"sv,
      "\xa0"
      "1"sv,
      "1\xc2\xa0"sv,
      "2 "sv,
      "1 0 2 -1 true"sv,
      " word"sv,
      "word\v\f\rnext"sv};
  Random random(2);
  for (const std::string_view text : kAwkward) {
    for (int i = 0; i < 300 && !HasFailure(); ++i) read_to_the_end(random, text);
  }
}

TEST(Itext, reads_lines_and_single_characters_as_a_string_stream_does) {
  Random random(3);
  for (int i = 0; i < 10'000 && !HasFailure(); ++i) {
    std::string text;
    for (std::size_t n = below(random, 10); n != 0; --n) text += "a \n;\0\xff"[below(random, 6)];
    tmk::itext ours(text);
    std::istringstream theirs = stream_of(text);
    SCOPED_TRACE(shown(text));
    for (int step = 0; step < 8; ++step) {
      char our_char = '~';
      char their_char = '~';
      std::string our_line = "untouched";
      std::string their_line = our_line;
      switch (below(random, 8)) {
        case 0:
          EXPECT_EQ(ours.get(), theirs.get());
          break;
        case 1:
          EXPECT_EQ(ours.peek(), theirs.peek());
          break;
        case 2:
          ours.get(our_char);
          theirs.get(their_char);
          // A stream may store a NUL if nothing is left.
          if (ours) {
            EXPECT_EQ(our_char, their_char);
          }
          break;
        case 3:
          ours.unget();
          theirs.unget();
          break;
        case 4: {
          const auto count = below(random, 4) == 0 ? std::numeric_limits<std::streamsize>::max()
                                                   : static_cast<std::streamsize>(below(random, 4));
          const int delimiter = below(random, 2) ? '\n' : -1;
          ours.ignore(count, delimiter);
          theirs.ignore(count, delimiter);
          break;
        }
        case 5:
          ours >> std::ws;
          theirs >> std::ws;
          break;
        case 6:
          getline(ours, our_line, ';');
          std::getline(theirs, their_line, ';');
          break;
        default:
          getline(ours, our_line);
          std::getline(theirs, their_line);
      }
      ASSERT_EQ(ours.rdstate(), theirs.rdstate());
      EXPECT_EQ(our_line, their_line);
      ASSERT_EQ(ours.position(), place(theirs));
      if (below(random, 3) == 0) {
        ours.clear();
        theirs.clear();
      }
    }
  }
}

template <class S>
concept goes_on_with = requires(tmk::itext& in, S&& text) { in.str(std::forward<S>(text)); };

TEST(Itext, gives_words_and_lines_where_they_are) {
  const std::string text = "  one two\nthree";
  tmk::itext in(text);
  std::string_view word;
  EXPECT_TRUE(in >> word);
  EXPECT_EQ(word, "one");
  EXPECT_EQ(word.data(), text.data() + 2);
  getline(in, word);
  EXPECT_EQ(word, " two");
  getline(in, word);
  EXPECT_EQ(word.data(), text.data() + 10);
  EXPECT_TRUE(in.eof() && !in.fail());
  EXPECT_FALSE(in >> word);
  EXPECT_EQ(word, "three");  // untouched
  in.clear();
  in.str("1f 10");
  int number = 0;
  EXPECT_TRUE(in >> tmk::hex >> number && number == 31);
  EXPECT_TRUE(in >> tmk::dec >> number && number == 10);
  in.clear();
  in >> std::boolalpha;
  EXPECT_TRUE(in.bad());
  static_assert(!std::is_constructible_v<tmk::itext, std::string>, "it would be gone");
  static_assert(!std::is_constructible_v<tmk::itext, const std::string>);
  static_assert(!goes_on_with<std::string> && !goes_on_with<const std::string>);
  static_assert(goes_on_with<std::string&> && goes_on_with<const char*>);
  static_assert(std::is_constructible_v<tmk::itext, std::string&>);
}

template <class T>
T strto(const char* text) {
  if constexpr (std::same_as<T, float>) return std::strtof(text, nullptr);
  if constexpr (std::same_as<T, double>) return std::strtod(text, nullptr);
  if constexpr (std::same_as<T, long double>) return std::strtold(text, nullptr);
}

// Rounds as the C library does; if that gives infinity, the limit and a failure.
template <class T>
void rounds_as_the_c_library(const std::string& text) {
  T ours = 77;
  tmk::itext in(text);
  in >> ours;
  const T theirs = strto<T>(text.c_str());
  const bool fits = std::isfinite(theirs);
  const T wanted = fits ? theirs : std::copysign(std::numeric_limits<T>::max(), theirs);
  EXPECT_TRUE(same(ours, wanted)) << shown(text) << ": " << std::setprecision(21) << ours
                                  << " instead of " << wanted;
  EXPECT_EQ(!in.fail(), fits) << shown(text);
  EXPECT_TRUE(in.eof()) << shown(text);
}

template <class T>
class Rounding : public testing::Test {};
using Floating = testing::Types<float, double, long double>;
TYPED_TEST_SUITE(Rounding, Floating, );

TYPED_TEST(Rounding, is_right_for_random_decimals) {
  Random random(4);
  for (int i = 0; i < (support::sanitized ? 20'000 : 300'000) && !this->HasFailure(); ++i) {
    std::string text = below(random, 2) ? "-" : "";
    const std::size_t count = 1 + below(random, 22);
    const std::size_t point = below(random, count + 1);
    for (std::size_t digit = 0; digit < count; ++digit) {
      if (digit == point) text += '.';
      text += static_cast<char>('0' + below(random, 10));
    }
    const int reach = below(random, 4) == 0 ? 360 : 34;
    if (below(random, 4) != 0) {
      text += 'e';
      text += std::to_string(static_cast<int>(below(random, 2 * unsigned(reach))) - reach);
    }
    rounds_as_the_c_library<TypeParam>(text);
  }
}

TYPED_TEST(Rounding, is_right_at_the_edges_of_nineteen_digits_and_of_the_powers) {
  for (int power = -30; power <= 30; ++power) {
    for (const char* size : {"1",
                             "5",
                             "9",
                             "9007199254740991",
                             "9007199254740992",
                             "9007199254740993",
                             "9007199254740995",
                             "9223372036854775807",
                             "9223372036854775808",
                             "9223372036854775809",
                             "9999999999999999999",
                             "10000000000000000000",
                             "18446744073709551615",
                             "18446744073709551616",
                             "0000000000000000000000000000001",
                             "1000000000000000000000",
                             "16777215",
                             "16777216",
                             "16777217",
                             "33554431",
                             "33554435"}) {
      rounds_as_the_c_library<TypeParam>(std::string(size) + "e" + std::to_string(power));
    }
  }
}

// Exactly between two neighbours, and a little beside it: written with few digits, if that
// is possible, and with all of them.
TYPED_TEST(Rounding, is_right_halfway_between_neighbours) {
  using T = TypeParam;
  constexpr int kDigits = std::numeric_limits<T>::digits;
  Random random(5);
  for (int i = 0; i < (support::sanitized ? 300 : 4'000) && !this->HasFailure(); ++i) {
    if constexpr (kDigits < 64) {  // an odd number with one bit more, over or times a power of 2
      std::uint64_t odd = (random() >> (63 - kDigits)) | 1 | (std::uint64_t{1} << kDigits);
      const int up = static_cast<int>(below(random, 64 - unsigned(kDigits)));
      rounds_as_the_c_library<T>(std::to_string(odd << up));
      rounds_as_the_c_library<T>(std::to_string((odd << up) + 1));
      rounds_as_the_c_library<T>(std::to_string((odd << up) - 1));
      for (int down = 1; odd <= std::numeric_limits<std::uint64_t>::max() / 5; ++down) {
        odd *= 5;  // odd / 10^down is the number over 2^down
        for (const std::uint64_t each : {odd - 1, odd, odd + 1}) {
          rounds_as_the_c_library<T>(std::to_string(each) + "e-" + std::to_string(down));
        }
      }
      // All digits of the middle, which the wider type has.
      using Wider = std::conditional_t<kDigits == 24, double, long double>;
      const int exponent = std::numeric_limits<T>::min_exponent - kDigits +
                           static_cast<int>(below(random, 2200) % (kDigits == 24 ? 270 : 2090));
      const Wider middle =
          std::ldexp(static_cast<Wider>((random() >> (63 - kDigits)) | 1), exponent);
      char text[1300];
      std::snprintf(text, sizeof text, "%.1200Lg", static_cast<long double>(middle));
      const std::string all(text);
      const auto end = std::min(all.find('e'), all.size());
      const bool point = all.find('.') != std::string::npos;
      rounds_as_the_c_library<T>(all);
      for (const char* more : {"0", "1", "000000000000000000000000000000000000000000001"}) {
        std::string with = all;
        rounds_as_the_c_library<T>(with.insert(end, std::string(point ? "" : ".") + more));
      }
      if (std::string less = all; less[end - 1] != '0') {
        --less[end - 1];
        rounds_as_the_c_library<T>(less);
      }
    }
  }
}

TYPED_TEST(Rounding, is_right_for_cases_that_others_got_wrong) {
  for (const char* text :
       {"2.2250738585072011e-308",
        "2.2250738585072012e-308",
        "2.2250738585072014e-308",
        "4.9406564584124654e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "1.7976931348623159e308",
        "1e23",
        "9007199254740993.00000000000000000000000000000000000000000000000000000000000000000000001",
        "8.5e22",
        "6.02214076e23",
        "6.62607015e-34",
        "3.518437208883201171875e13",
        "62.5364939768271845828",
        "1.00000005960464477539062499",
        "1.00000005960464477539062500",
        "1.00000005960464477539062501",
        "7.0064923216240853546186479164495e-46",
        "7.0064923216240853546186479164496e-46",
        "3.4028235677973366e38",
        "3.40282356779733e38",
        "0.500000000000000166533453693773481063544750213623046875",
        "1.5e-45",
        "0.1",
        "0.3",
        "123456789012345678901234567890e-30",
        "3.000000000000000000000000000000"}) {
    rounds_as_the_c_library<TypeParam>(text);
    rounds_as_the_c_library<TypeParam>(std::string("-") + text);
  }
  for (const std::size_t zeros : {10U, 400U, 20'000U}) {
    const std::string far(zeros, '0');
    rounds_as_the_c_library<TypeParam>("0." + far + "123");
    rounds_as_the_c_library<TypeParam>("0." + far + "123e" + std::to_string(zeros));
    rounds_as_the_c_library<TypeParam>("123" + far + "e-" + std::to_string(zeros));
    rounds_as_the_c_library<TypeParam>("123" + far + "." + far);
    rounds_as_the_c_library<TypeParam>("1" + far + "1e-" + std::to_string(zeros));
    rounds_as_the_c_library<TypeParam>(far + "." + far);
  }
}

TEST(Itext, leaves_errno_and_the_locale_of_c_alone) {
  if (std::setlocale(LC_ALL, "C.UTF-8") == nullptr) GTEST_SKIP() << "there is no such locale";
  errno = 42;
  tmk::itext in("1e-320 1e400");
  double tiny = 0;
  double huge = 0;
  in >> tiny >> huge;
  EXPECT_EQ(errno, 42);
  EXPECT_EQ(tiny, 1e-320);
  EXPECT_EQ(huge, std::numeric_limits<double>::max());
  EXPECT_STREQ(std::setlocale(LC_ALL, nullptr), "C.UTF-8");
  std::setlocale(LC_ALL, "C");
}

TEST(Text, allocates_nothing_but_for_long_words) {
#ifdef COUNTS_MALLOC
  const std::string text =
      "word -12 4000000000 0.1 3.0000000000000000000000001 6.6e-34 1e-320 1e999 2.5 0x1f end";
  char room[256];
  const std::size_t before = allocations;
  for (int i = 0; i < 3; ++i) {
    tmk::itext in(text);
    std::string word;
    std::string_view last;
    int number = 0;
    unsigned size = 0;
    double a = 0, b = 0, c = 0, d = 0, e = 0;
    float f = 0;
    long double g = 0;
    in >> word >> number >> size >> a >> b >> c >> d >> e;
    EXPECT_TRUE(in.fail());
    in.clear();
    in >> g >> std::hex >> number >> last;
    EXPECT_TRUE(in.eof() && !in.fail() && last == "end" && number == 31 && g == 2.5L);
    tmk::otext out(room);
    out << word << number << size << a << c << f << tmk::shortest << a << std::fixed << b;
    EXPECT_TRUE(out.good());
  }
  EXPECT_EQ(allocations - before, 0U);
  tmk::otext owned;
  owned << 1;
  EXPECT_EQ(allocations - before, 1U);  // the counter works
#else
  GTEST_SKIP() << "a sanitizer has its own malloc";
#endif
}

TEST(Text, leaves_the_thread_s_locale_as_it_was_when_memory_is_refused) {
#ifdef COUNTS_MALLOC
  const locale_t own = newlocale(LC_ALL_MASK, "C.UTF-8", nullptr);
  ASSERT_NE(own, nullptr);
  const locale_t before = uselocale(own);
  char room[256];
  tmk::otext out(room);
  out << "x" << std::fixed;
  refused_size = 101 + 1 + 6 + 1;  // the digits of 2^333, a point, those behind it and a NUL
  EXPECT_THROW(out << 0x1p333L, std::bad_alloc);
  refused_size = 0;
  EXPECT_EQ(uselocale(before), own);
  freelocale(own);
  EXPECT_EQ(out.view(), "x");
  out << 0x1p333L;
  EXPECT_EQ(out.view().size(), 1U + 101 + 1 + 6);
#else
  GTEST_SKIP() << "a sanitizer has its own malloc";
#endif
}

TEST(Text, of_different_threads_shares_nothing) {
  std::array<double, 4> sums{};
  std::vector<std::thread> threads;
  for (double& sum : sums) {
    threads.emplace_back([&sum] {
      for (int i = 0; i < 500; ++i) {
        tmk::otext out;
        out << i << " 1e-320 " << 0.25L;
        tmk::itext in(out.view());
        int whole = 0;
        double tiny = 0;
        double quarter = 0;
        in >> whole >> tiny >> quarter;
        sum += whole + (tiny == 1e-320) + quarter;
      }
    });
  }
  for (std::thread& each : threads) each.join();
  for (const double sum : sums) EXPECT_EQ(sum, 499 * 500 / 2 + 500 * 1.25);
}

template <class T>
T any_floating(Random& random) {
  switch (below(random, 4)) {
    case 0:
      return static_cast<T>(static_cast<std::int64_t>(random() >> 40) - (1 << 23)) / 256;
    case 1:
      return static_cast<T>(below(random, 1000));
    case 2: {
      static constexpr T kOdd[] = {0,
                                   -T{0},
                                   std::numeric_limits<T>::infinity(),
                                   -std::numeric_limits<T>::infinity(),
                                   std::numeric_limits<T>::max(),
                                   std::numeric_limits<T>::min(),
                                   std::numeric_limits<T>::denorm_min(),
                                   T(999999.5L),
                                   T(0.0001L),
                                   T(0.00009999995L),
                                   T(0.5L),
                                   T(2.5L),
                                   T(1e5L)};
      return kOdd[below(random, std::size(kOdd))];
    }
    default:
      return std::ldexp(static_cast<T>(random()), static_cast<int>(below(random, 200)) - 160);
  }
}

template <class Text>
void set_format(Text& out, std::size_t which) {
  switch (which) {
    case 0:
      out << std::fixed;
      break;
    case 1:
      out << std::scientific;
      break;
    case 2:
      out << std::hex;
      break;
    case 3:
      out << std::oct;
      break;
    case 4:
      out << std::dec;
      break;
    case 5:
      out << std::boolalpha;
      break;
    case 6:
      out << std::noboolalpha;
      break;
    case 7:
      out << std::endl << std::ends << std::flush;
      break;
    default:
      out << std::defaultfloat;
  }
}

TEST(Otext, writes_what_a_string_stream_writes) {
  Random random(6);
  for (int i = 0; i < (support::sanitized ? 2'000 : 20'000) && !HasFailure(); ++i) {
    tmk::otext ours;
    std::ostringstream theirs;
    theirs.imbue(std::locale::classic());
    const auto both = [&](const auto& value) {
      ours << value;
      theirs << value;
    };
    for (int step = 0; step < 12; ++step) {
      const std::size_t format = below(random, 12);
      set_format(ours, format);
      set_format(theirs, format);
      if (below(random, 4) == 0) {
        const auto precision = static_cast<std::streamsize>(
            below(random, 4) == 0 ? below(random, 70) : below(random, 20));
        EXPECT_EQ(ours.precision(precision), theirs.precision(precision));
      }
      const std::uint64_t bits = random() >> below(random, 64);
      switch (below(random, 14)) {
        case 0:
          both(static_cast<short>(bits));
          break;
        case 1:
          both(static_cast<int>(bits));
          break;
        case 2:
          both(static_cast<long long>(bits));
          break;
        case 3:
          both(static_cast<unsigned short>(bits));
          break;
        case 4:
          both(static_cast<unsigned>(bits));
          break;
        case 5:
          both(bits);
          break;
        case 6:
          both(static_cast<char>(bits));
          break;
        case 7:
          both(bits % 2 == 0);
          break;
        case 8:
          both("literal");
          both(std::string(bits % 100, 'x'));
          break;
        case 9:
          both(any_floating<float>(random));
          break;
        case 10:
          both(any_floating<long double>(random));
          break;
        default:
          both(any_floating<double>(random));
      }
      both(' ');
    }
    ASSERT_EQ(ours.view(), theirs.str());
    ASSERT_TRUE(ours.good());
  }
  tmk::otext out;
  out << std::numeric_limits<double>::quiet_NaN() << -1 << std::left;
  EXPECT_EQ(out.view(), "nan-1");
  EXPECT_TRUE(out.bad());
  out << 1;
  EXPECT_EQ(out.str(), "nan-1");
  out.clear();
  out << static_cast<const char*>(nullptr);
  EXPECT_TRUE(out.bad());
  out.clear();
  out.str("x");
  out << 1;
  EXPECT_EQ(out.view(), "x1");
}

template <class T>
class Shortest : public testing::Test {};
TYPED_TEST_SUITE(Shortest, Floating, );

TYPED_TEST(Shortest, brings_the_same_number_back_with_the_fewest_characters) {
  using T = TypeParam;
  Random random(7);
  for (int i = 0; i < (support::sanitized ? 2'000 : 20'000) && !this->HasFailure(); ++i) {
    const T value = any_floating<T>(random);
    if (!std::isfinite(value)) continue;
    tmk::otext out;
    out << tmk::shortest << value;
    EXPECT_TRUE(same(strto<T>(out.str().c_str()), value)) << out.view();
    T back = 77;
    tmk::itext in(out.view());
    in >> back;
    EXPECT_TRUE(same(back, value) && in.eof() && !in.fail()) << out.view();
    std::string digits_of(out.view());
    digits_of.resize(std::min(digits_of.find('e'), digits_of.size()));
    std::erase_if(digits_of, [](char c) { return c < '0' || c > '9'; });
    digits_of.erase(0, digits_of.find_first_not_of('0'));
    while (!digits_of.empty() && digits_of.back() == '0') digits_of.pop_back();
    if (digits_of.size() < 2) continue;
    std::ostringstream fewer;
    fewer << std::setprecision(static_cast<int>(digits_of.size()) - 1) << value;
    EXPECT_TRUE(!same(strto<T>(fewer.str().c_str()), value) ||
                fewer.str().size() >= out.view().size())
        << out.view() << " but " << fewer.str();
  }
}

TEST(Otext, leaves_out_as_a_whole_what_does_not_fit_a_given_range) {
  std::array<char, 11> room{};
  room.fill('#');
  tmk::otext out(room.data(), room.data() + 10);
  out << "1234" << 5.25;
  EXPECT_EQ(out.view(), "12345.25");
  out << 123;
  EXPECT_TRUE(out.bad());
  EXPECT_EQ(out.view(), "12345.25");
  out.clear();
  out << 0.125L;
  EXPECT_TRUE(out.bad());
  out.clear();
  out << "abc";
  EXPECT_TRUE(out.bad());
  out.clear();
  out << 78;
  EXPECT_TRUE(out.good());
  EXPECT_EQ(out.view(), "12345.2578");
  EXPECT_EQ(room[10], '#');
  out << 'x';
  EXPECT_TRUE(out.bad());
}

}  // namespace
