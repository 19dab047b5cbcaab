// tmk::otext: << into plain characters, in the place of std::ostringstream. See text.hpp.
#pragma once

#include <algorithm>
#include <charconv>
#include <clocale>
#include <concepts>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <ios>
#include <limits>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "detail/text_number.hpp"
#include "detail/text_state.hpp"

namespace tmk {

// Writes floating numbers in the fewest characters that read back as the same number;
// std::defaultfloat ends this.
struct shortest_t {};
inline constexpr shortest_t shortest{};

// Inserts into a buffer of its own, which grows, or into a range of characters that the caller
// gives. A value that does not fit in the range sets badbit and is left out as a whole. The text is
// that of std::ostringstream in the classic locale [ostream.formatted], without width and fill.
// Nothing is written after a failure until clear().
class otext : public detail::TextState {
 public:
  otext() noexcept : owns_(true) {}
  otext(char* first, char* last) noexcept : begin_(first), at_(first), end_(last) {}
  explicit otext(std::span<char> room) noexcept : otext(room.data(), room.data() + room.size()) {}
  otext(const otext&) = delete;
  otext& operator=(const otext&) = delete;

  [[nodiscard]] std::string_view view() const noexcept { return {begin_, at_}; }
  [[nodiscard]] std::string str() const { return std::string(view()); }
  // Begins again with this text, and keeps the buffer. Later insertions come after the text.
  void str(std::string_view text) {
    at_ = begin_;
    write(text.data(), static_cast<std::streamsize>(text.size()));
  }

  // Sets the number of digits of floating numbers: in all or, after std::fixed or std::scientific,
  // after the point. Returns the previous number.
  std::streamsize precision(std::streamsize digits) noexcept {
    return std::exchange(precision_, digits);
  }
  [[nodiscard]] std::streamsize precision() const noexcept { return precision_; }

  otext& put(char c) { return write(&c, 1); }
  otext& write(const char* text, std::streamsize size) {
    const auto count = static_cast<std::size_t>(size);
    if (count != 0 && room(count)) {
      std::memmove(at_, text, count);
      at_ += count;
    }
    return *this;
  }
  otext& flush() noexcept { return *this; }

  otext& operator<<(std::string_view text) {
    return write(text.data(), static_cast<std::streamsize>(text.size()));
  }
  otext& operator<<(const char* text) {
    if (text) return *this << std::string_view(text);
    setstate(std::ios_base::badbit);
    return *this;
  }
  template <detail::character T>
  otext& operator<<(T c) {
    return put(static_cast<char>(c));
  }
  template <std::same_as<bool> T>
  otext& operator<<(T value) {
    if (alpha_) return *this << std::string_view(value ? "true" : "false");
    return put(value ? '1' : '0');
  }
  template <detail::integer T>
  otext& operator<<(T value) {
    constexpr std::size_t kMost = sizeof(T) * 3 + 1;  // octal, or decimal and its sign
    return convert(kMost, [&](char* first, char* last) {
      if (base_ == dec) return std::to_chars(first, last, value);
      return std::to_chars(first, last, static_cast<std::make_unsigned_t<T>>(value),
                           static_cast<int>(base_));
    });
  }
  template <std::floating_point T>
  otext& operator<<(T value) {
    using Limits = std::numeric_limits<T>;
    if constexpr (std::same_as<T, float>) {
      if (format_ != Format::least) return *this << static_cast<double>(value);
    }
    if (!(value >= Limits::lowest() && value <= Limits::max())) {
      constexpr std::string_view kNames[] = {"nan", "-nan", "inf", "-inf"};
      return *this << kNames[(value == value ? 2 : 0) + (__builtin_signbit(value) ? 1 : 0)];
    }
    // printf takes a negative precision for 6.
    const int digits =
        precision_ < 0 ? 6 : static_cast<int>(std::min<std::streamsize>(precision_, 1 << 20));
    std::size_t most =
        static_cast<std::size_t>(format_ == Format::least ? Limits::max_digits10 : digits) + 16;
    if (format_ == Format::fixed) most += static_cast<std::size_t>(Limits::max_exponent10);
    return convert(most, [&](char* first, char* last) {
      if constexpr (Limits::digits > 53) {
        return print(first, last, value, digits);
      } else {
        if (format_ == Format::least) return std::to_chars(first, last, value);
        return std::to_chars(first, last, value, chars_format(), digits);
      }
    });
  }

  otext& operator<<(base which) noexcept {
    base_ = which;
    return *this;
  }
  otext& operator<<(shortest_t /*tag*/) noexcept {
    format_ = Format::least;
    return *this;
  }
  // hex, dec, oct, fixed, scientific, defaultfloat, boolalpha, noboolalpha. Any other manipulator
  // has no meaning here and sets badbit.
  otext& operator<<(detail::Manipulator what) noexcept {
    if (what == &std::fixed) {
      format_ = Format::fixed;
    } else if (what == &std::scientific) {
      format_ = Format::scientific;
    } else if (what == &std::defaultfloat) {
      format_ = Format::general;
    } else if (what == &std::boolalpha) {
      alpha_ = true;
    } else if (what == &std::noboolalpha) {
      alpha_ = false;
    } else if (!set_base(what)) {
      setstate(std::ios_base::badbit);
    }
    return *this;
  }
  otext& operator<<(std::ostream& (*what)(std::ostream&)) {  // endl, ends, flush
    using Of = std::ostream& (*)(std::ostream&);
    if (what == static_cast<Of>(&std::endl)) return put('\n');
    if (what == static_cast<Of>(&std::ends)) return put('\0');
    if (what != static_cast<Of>(&std::flush)) setstate(std::ios_base::badbit);
    return *this;
  }

 private:
  enum class Format : unsigned char { general, fixed, scientific, least };

  std::chars_format chars_format() const noexcept {
    return format_ == Format::fixed        ? std::chars_format::fixed
           : format_ == Format::scientific ? std::chars_format::scientific
                                           : std::chars_format::general;
  }

  // Makes room for that many characters, or sets badbit if there is none.
  bool room(std::size_t count) {
    if (!good()) return false;
    if (static_cast<std::size_t>(end_ - at_) >= count) return true;
    if (owns_) {
      grow(count);
    } else {
      setstate(std::ios_base::badbit);
    }
    return owns_;
  }
  void grow(std::size_t count) {
    const std::size_t used = view().size();
    const std::size_t size = std::max(used + count, std::max(std::size_t{64}, 2 * used));
    auto larger = std::make_unique_for_overwrite<char[]>(size);
    if (used != 0) std::memcpy(larger.get(), begin_, used);
    own_ = std::move(larger);
    begin_ = own_.get();
    at_ = begin_ + used;
    end_ = begin_ + size;
  }
  // `most` characters are enough for any value. A range of the caller's may be smaller.
  template <class To>
  otext& convert(std::size_t most, To to) {
    if (!good() || (owns_ && !room(most))) return *this;
    const std::to_chars_result result = to(at_, end_);
    if (result.ec == std::errc{}) {
      at_ = result.ptr;
    } else {
      setstate(std::ios_base::badbit);
    }
    return *this;
  }
  // long double: not every library's to_chars has more digits than double. The function changes the
  // thread's locale for the call, which costs one store.
  std::to_chars_result print(char* first, char* last, long double value, int digits) const {
    const char* const format = format_ == Format::fixed        ? "%.*Lf"
                               : format_ == Format::scientific ? "%.*Le"
                                                               : "%.*Lg";
    const bool least = format_ == Format::least;
    if (least) {  // up to digits10 digits stay as written, unless subnormal
      using Limits = std::numeric_limits<long double>;
      digits = value < Limits::min() && value > -Limits::min() ? 1 : Limits::digits10;
    }
    char few[64];  // printf ends with a NUL, for which a caller's range needs no room
    const auto size = static_cast<std::size_t>(last - first);
    const struct Locale {
      locale_t before = uselocale(detail::c_locale());
      ~Locale() { uselocale(before); }
    } restored;
    int written = std::snprintf(few, sizeof few, format, digits, value);
    while (least && detail::strto<long double>(few) != value) {
      written = std::snprintf(few, sizeof few, format, ++digits, value);
    }
    std::to_chars_result result{first + written, std::errc{}};
    if (written < 0 || static_cast<std::size_t>(written) > size) {
      result = {last, std::errc::value_too_large};
    } else if (static_cast<std::size_t>(written) < sizeof few) {
      std::memcpy(first, few, static_cast<std::size_t>(written));
    } else {
      const auto all =
          std::make_unique_for_overwrite<char[]>(static_cast<std::size_t>(written) + 1);
      std::snprintf(all.get(), static_cast<std::size_t>(written) + 1, format, digits, value);
      std::memcpy(first, all.get(), static_cast<std::size_t>(written));
    }
    return result;
  }

  char* begin_ = nullptr;
  char* at_ = nullptr;
  char* end_ = nullptr;
  std::unique_ptr<char[]> own_;
  std::streamsize precision_ = 6;
  Format format_ = Format::general;
  bool alpha_ = false;
  bool owns_ = false;
};

}  // namespace tmk
