// The common part of tmk::itext and tmk::otext: the base of integers and the state.
#pragma once

#include <concepts>
#include <ios>
#include <type_traits>

namespace tmk {

// The base of integers. The streams also understand std::hex and so on.
enum class base : unsigned char { oct = 8, dec = 10, hex = 16 };
inline constexpr base oct = base::oct, dec = base::dec, hex = base::hex;

namespace detail {

template <class T>
concept character =
    std::same_as<T, char> || std::same_as<T, signed char> || std::same_as<T, unsigned char>;
template <class T>  // the types that streams treat as numbers, less bool
concept integer =
    std::integral<T> && !character<T> && !std::same_as<T, bool> && !std::same_as<T, wchar_t> &&
    !std::same_as<T, char8_t> && !std::same_as<T, char16_t> && !std::same_as<T, char32_t> &&
    sizeof(T) <= sizeof(long long);

using Manipulator = std::ios_base& (*)(std::ios_base&);

// The part of [ios.base] that both directions have: the state and the base.
class TextState {
 public:
  using iostate = std::ios_base::iostate;

  [[nodiscard]] bool good() const noexcept { return state_ == std::ios_base::goodbit; }
  [[nodiscard]] bool eof() const noexcept { return (state_ & std::ios_base::eofbit) != 0; }
  [[nodiscard]] bool fail() const noexcept {
    return (state_ & (std::ios_base::failbit | std::ios_base::badbit)) != 0;
  }
  [[nodiscard]] bool bad() const noexcept { return (state_ & std::ios_base::badbit) != 0; }
  [[nodiscard]] explicit operator bool() const noexcept { return !fail(); }
  [[nodiscard]] bool operator!() const noexcept { return fail(); }
  [[nodiscard]] iostate rdstate() const noexcept { return state_; }
  void clear(iostate state = std::ios_base::goodbit) noexcept { state_ = state; }
  void setstate(iostate more) noexcept { state_ = state_ | more; }

 protected:
  bool set_base(Manipulator what) noexcept {
    if (what == &std::dec) {
      base_ = dec;
    } else if (what == &std::hex) {
      base_ = hex;
    } else if (what == &std::oct) {
      base_ = oct;
    } else {
      return false;
    }
    return true;
  }

  iostate state_ = std::ios_base::goodbit;
  base base_ = dec;
};

}  // namespace detail

}  // namespace tmk
