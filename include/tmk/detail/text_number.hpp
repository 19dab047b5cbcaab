// Numbers out of characters for tmk::itext: as num_get of libstdc++ reads them in the classic
// locale, without a locale, a lock or an allocation.
//
// Correct rounding: a decimal of at most 19 digits whose power of ten lies in -27..27 is an integer
// below 2^64 times or over 5^k, which is below 2^64 too. Their product has 128 bits, their quotient
// 63 or 64 and a remainder. So the value before rounding is exact, whatever the rounding mode and
// -ffast-math make of floating arithmetic. All other decimals go to from_chars if the library has
// it, because it is faster, and then to the C library's strtod_l in the "C" locale, which rounds
// correctly.
#pragma once

#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <clocale>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <type_traits>

namespace tmk::detail {

__extension__ using Wide = unsigned __int128;

// The place at which reading has ended, and whether the text was a number that fits.
struct Scan {
  const char* end;
  bool ok;
};

inline bool is_space(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }
inline unsigned digit_of(char c) noexcept { return static_cast<unsigned char>(c) - unsigned{'0'}; }

inline unsigned hex_digit_of(char c) noexcept {
  const unsigned digit = digit_of(c);
  if (digit < 10) return digit;
  const unsigned letter = (static_cast<unsigned char>(c) | 0x20U) - unsigned{'a'};
  return letter < 6 ? letter + 10 : 16;
}

template <unsigned Base>
unsigned digit_in(char c) noexcept {
  return Base == 16 ? hex_digit_of(c) : digit_of(c);
}

// Reads all digits from first on. The value wraps around if they are too many.
template <unsigned Base>
const char* scan_digits(const char* first, const char* last, std::uint64_t& value) noexcept {
  std::uint64_t sum = value;
  for (; first != last; ++first) {
    const unsigned digit = digit_in<Base>(*first);
    if (digit >= Base) break;
    sum = sum * Base + digit;
  }
  value = sum;
  return first;
}

// False if these digits are too many for the value.
template <unsigned Base>
bool all_digits(const char* first, const char* last, std::uint64_t& value) noexcept {
  for (value = 0; first != last; ++first) {
    if (__builtin_mul_overflow(value, std::uint64_t{Base}, &value) ||
        __builtin_add_overflow(value, std::uint64_t{digit_in<Base>(*first)}, &value)) {
      return false;
    }
  }
  return true;
}

// No digits: 0. Out of range: the nearest value. A minus before an unsigned number counts from 2^n
// downwards, as in strtoul.
template <unsigned Base, std::integral T>
Scan scan_integer(const char* first, const char* last, T& value) noexcept {
  constexpr std::ptrdiff_t kSurelyFit = Base == 8 ? 21 : Base == 10 ? 19 : 16;
  bool negative = false;
  if (first != last && (*first == '-' || *first == '+')) negative = *first++ == '-';
  if (Base == 16 && last - first >= 2 && *first == '0' && (first[1] == 'x' || first[1] == 'X')) {
    first += 2;
  }
  std::uint64_t size = 0;
  const char* const end = scan_digits<Base>(first, last, size);
  value = 0;
  if (end == first) return {end, false};
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<T>::max());
  const bool down = negative && std::is_signed_v<T>;
  if ((end - first > kSurelyFit && !all_digits<Base>(first, end, size)) || size > kMost + down) {
    value = down ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
    return {end, false};
  }
  value = static_cast<T>(negative ? 0 - size : size);
  return {end, true};
}

template <std::integral T>
Scan scan_integer(const char* first, const char* last, int base, T& value) noexcept {
  if (base == 10) [[likely]]
    return scan_integer<10>(first, last, value);
  return base == 16 ? scan_integer<16>(first, last, value) : scan_integer<8>(first, last, value);
}

inline constexpr int kMostPower = 27;
// 5^k, shifted so that the highest bit is set.
inline constexpr std::array<std::uint64_t, kMostPower + 1> kPowers = [] {
  std::array<std::uint64_t, kMostPower + 1> all{};
  std::uint64_t power = 1;
  for (std::uint64_t& each : all) {
    each = power << std::countl_zero(power);
    power *= 5;  // 5^27 < 2^63; the one after it wraps and is not used
  }
  return all;
}();
inline constexpr std::array<int, kMostPower + 1> kPowerShifts = [] {
  std::array<int, kMostPower + 1> all{};
  std::uint64_t power = 1;
  for (int& each : all) {
    each = std::countl_zero(power);
    power *= 5;
  }
  return all;
}();

template <class T>
inline constexpr bool is_binary32_or_64 =
    std::numeric_limits<T>::is_iec559 &&
    (std::numeric_limits<T>::digits == 24 || std::numeric_limits<T>::digits == 53);

// The T nearest to size * 10^power, of two the even one; infinity if it is too big. 1 <= size,
// -27 <= power <= 27, so that it is never subnormal.
template <std::floating_point T>
T nearest(std::uint64_t size, int power) noexcept {
  using Limits = std::numeric_limits<T>;
  using Bits = std::conditional_t<Limits::digits == 24, std::uint32_t, std::uint64_t>;
  static_assert(sizeof(T) == sizeof(Bits) && Limits::min_exponent10 < -kMostPower);
  const int shift = std::countl_zero(size);
  size <<= shift;
  const auto index = static_cast<std::size_t>(power < 0 ? -power : power);
  // The number is (most + something below 1, if inexact) * 2^exponent, and 2^62 <= most.
  std::uint64_t most;
  bool inexact;
  int exponent = power - shift;
  if (power >= 0) {
    const Wide product = Wide{size} * kPowers[index];
    most = static_cast<std::uint64_t>(product >> 64);
    inexact = static_cast<std::uint64_t>(product) != 0;
    exponent += 64 - kPowerShifts[index];
  } else {
    const Wide dividend = Wide{size} << 63;
    most = static_cast<std::uint64_t>(dividend / kPowers[index]);
    inexact = Wide{most} * kPowers[index] != dividend;
    exponent += kPowerShifts[index] - 63;
  }
  const int dropped = 64 - std::countl_zero(most) - Limits::digits;
  const std::uint64_t half = std::uint64_t{1} << (dropped - 1);
  const std::uint64_t rest = most & (half + half - 1);
  most >>= dropped;
  if (rest > half || (rest == half && (inexact || (most & 1) != 0))) ++most;
  // The leading bit of `most` adds one to the exponent's field, and a carry one more.
  const int field = exponent + dropped + Limits::digits + Limits::max_exponent - 3;
  const auto bits = (static_cast<std::uint64_t>(field) << (Limits::digits - 1)) + most;
  const auto infinity = std::bit_cast<Bits>(Limits::infinity());
  return std::bit_cast<T>(bits < infinity ? static_cast<Bits>(bits) : infinity);
}

inline locale_t c_locale() noexcept {
  static const locale_t made = newlocale(LC_ALL_MASK, "C", nullptr);  // glibc's has no memory
  return made;
}

template <std::floating_point T>
T strto(const char* text) noexcept {
  const int before = errno;
  T value;
  if constexpr (std::same_as<T, float>) {
    value = strtof_l(text, nullptr, c_locale());
  } else if constexpr (std::same_as<T, double>) {
    value = strtod_l(text, nullptr, c_locale());
  } else {
    value = strtold_l(text, nullptr, c_locale());
  }
  errno = before;
  return value;
}

// A written number: two runs of digits, of which either may be empty, and a power of ten.
struct Written {
  const char *whole, *whole_end, *fraction, *fraction_end;
  std::int64_t power;  // of ten, of the fraction's last digit
};

// Any number above 0 that nearest() cannot do; infinity if it is too big.
template <std::floating_point T>
[[gnu::noinline]] T nearest_slowly(const Written& number) noexcept {
  // Halfway between two neighbours lies no decimal with more digits than this: those after it
  // matter only in that there are some.
  constexpr std::size_t kMost = static_cast<std::size_t>(std::numeric_limits<T>::digits -
                                                         std::numeric_limits<T>::min_exponent) +
                                3;
  constexpr std::int64_t kFar = 1'000'000;
  char text[kMost + 16];
  std::size_t count = 0;
  std::int64_t power = number.power;
  bool more = false;
  const auto copy = [&](const char* from, const char* to) {
    for (; from != to; ++from) {
      if (count == 0 && *from == '0') continue;
      if (count < kMost) {
        text[count++] = *from;
      } else {
        more = more || *from != '0';
        ++power;
      }
    }
  };
  copy(number.whole, number.whole_end);
  copy(number.fraction, number.fraction_end);
  if (more) {
    text[count++] = '1';
    --power;
  }
  text[count++] = 'e';
  power = power < -kFar ? -kFar : power > kFar ? kFar : power;
  char* const end = std::to_chars(text + count, text + sizeof text - 1, power).ptr;
  *end = '\0';
  if constexpr (is_binary32_or_64<T>) {
    if constexpr (requires(T value) { std::from_chars(text, end, value); }) {
      T value = 0;
      // from_chars does not tell whether a number that it cannot represent is too big or too small.
      if (std::from_chars(text, end, value).ec == std::errc{} && value > 0 &&
          value <= std::numeric_limits<T>::max()) {
        return value;
      }
    }
  }
  return strto<T>(text);
}

// Reads the exponent after an e. Far beyond any number the exponent stops growing. False: it has no
// digits.
inline Scan scan_exponent(const char* first, const char* last, std::int64_t& power) noexcept {
  constexpr std::int64_t kFar = std::int64_t{1} << 58;
  bool negative = false;
  if (first != last && (*first == '-' || *first == '+')) negative = *first++ == '-';
  const char* const start = first;
  std::int64_t size = 0;
  for (; first != last && digit_of(*first) < 10; ++first) {
    if (size < kFar) size = size * 10 + digit_of(*first);
  }
  power += negative ? -size : size;
  return {first, first != start};
}

// No number: 0. Too big: the biggest value. Too small: the rounded value, which is no failure.
template <std::floating_point T>
Scan scan_floating(const char* first, const char* last, T& value) noexcept {
  bool negative = false;
  if (first != last && (*first == '-' || *first == '+')) negative = *first++ == '-';
  value = 0;
  std::uint64_t size = 0;
  const char* at = scan_digits<10>(first, last, size);
  Written number{first, at, at, at, 0};
  if (at != last && *at == '.') {
    number.fraction = ++at;
    number.fraction_end = at = scan_digits<10>(at, last, size);
    number.power = number.fraction - at;
  }
  std::ptrdiff_t count =
      (number.whole_end - number.whole) + (number.fraction_end - number.fraction);
  if (count == 0) return {at, false};
  if (at != last && (*at == 'e' || *at == 'E')) {
    const Scan exponent = scan_exponent(at + 1, last, number.power);
    if (!exponent.ok) return exponent;
    at = exponent.end;
  }
  if (count > 19) {  // leading zeros do not count, and size has wrapped
    for (; first != number.fraction_end && (*first == '0' || *first == '.'); ++first) {
      if (*first == '0') --count;
    }
  }
  T result = 0;
  if (is_binary32_or_64<T> && count <= 19 && number.power >= -kMostPower &&
      number.power <= kMostPower) [[likely]] {
    if constexpr (is_binary32_or_64<T>) {
      if (size != 0) result = nearest<T>(size, static_cast<int>(number.power));
    }
  } else if (count > 19 || size != 0) {
    result = nearest_slowly<T>(number);
  }
  const bool fits = result <= std::numeric_limits<T>::max();
  if (!fits) result = std::numeric_limits<T>::max();
  value = negative ? -result : result;
  return {at, fits};
}

}  // namespace tmk::detail
