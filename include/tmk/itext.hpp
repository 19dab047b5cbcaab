// tmk::itext: >> over plain characters, in the place of std::istringstream. See text.hpp.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstring>
#include <ios>
#include <istream>
#include <limits>
#include <string>
#include <string_view>

#include "detail/text_number.hpp"
#include "detail/text_state.hpp"

namespace tmk {

// Extracts from characters that the caller keeps, and that must outlive it. It stores the values
// and leaves the state of libstdc++'s std::istringstream in the classic locale [istream.formatted].
// A number that cannot be read is 0, a number out of range is the nearest limit, both with failbit.
// At the end of the text failbit and eofbit are set and the variable is untouched.
class itext : public detail::TextState {
 public:
  itext() noexcept = default;
  explicit itext(std::string_view text) noexcept { str(text); }
  itext(const char* first, const char* last) noexcept : at_(first), end_(last), begin_(first) {}
  template <class S>
    requires std::same_as<std::remove_const_t<S>, std::string>
  explicit itext(S&&) = delete;  // the text would be gone: give the string a name

  // Goes on with other characters. Keeps the state, as istringstream does: see clear().
  void str(std::string_view text) noexcept {
    at_ = begin_ = text.data();
    end_ = at_ + text.size();
  }
  template <class S>
    requires std::same_as<std::remove_const_t<S>, std::string>
  void str(S&&) = delete;
  [[nodiscard]] std::string_view view() const noexcept { return {begin_, end_}; }  // all
  [[nodiscard]] std::string_view rest() const noexcept { return {at_, end_}; }     // not yet read
  // Characters read so far; unlike tellg() whatever the state.
  [[nodiscard]] std::size_t position() const noexcept {
    return static_cast<std::size_t>(at_ - begin_);
  }

  template <detail::integer T>
  itext& operator>>(T& value) noexcept {
    if (ready()) end(detail::scan_integer(at_, end_, static_cast<int>(base_), value));
    return *this;
  }
  template <std::floating_point T>
  itext& operator>>(T& value) noexcept {
    if (ready()) end(detail::scan_floating(at_, end_, value));
    return *this;
  }
  template <std::same_as<bool> T>  // 0 and 1; other numbers are true, with failbit
  itext& operator>>(T& value) noexcept {
    if (!ready()) return *this;
    long number;
    detail::Scan scan = detail::scan_integer(at_, end_, static_cast<int>(base_), number);
    value = number != 0;
    scan.ok = scan.ok && (number == 0 || number == 1);
    end(scan);
    return *this;
  }
  template <detail::character T>
  itext& operator>>(T& value) noexcept {
    if (!ready()) return *this;
    if (at_ == end_) {
      setstate(kEnd);
    } else {
      value = static_cast<T>(*at_++);
    }
    return *this;
  }
  // Reads a word. An exception of the string passes through, and the position is then unchanged.
  template <class Traits, class Allocator>
  itext& operator>>(std::basic_string<char, Traits, Allocator>& value) {
    if (!ready()) return *this;
    const detail::Scan word = scan_word();
    value.assign(at_, word.end);
    end(word);
    return *this;
  }
  itext& operator>>(std::string_view& value) noexcept {  // a word where it is, without a copy
    if (!ready()) return *this;
    const detail::Scan word = scan_word();
    value = {at_, word.end};
    end(word);
    return *this;
  }

  itext& operator>>(base which) noexcept {
    base_ = which;
    return *this;
  }
  // hex, dec, oct, skipws, noskipws. Any other manipulator has no meaning here and sets badbit.
  itext& operator>>(detail::Manipulator what) noexcept {
    if (what == &std::skipws) {
      skips_ = true;
    } else if (what == &std::noskipws) {
      skips_ = false;
    } else if (!set_base(what)) {
      setstate(std::ios_base::badbit);
    }
    return *this;
  }
  itext& operator>>(std::istream& (*what)(std::istream&)) noexcept {  // ws
    if (what != static_cast<std::istream& (*)(std::istream&)>(&std::ws)) {
      setstate(std::ios_base::badbit);
    } else if (unformatted()) {
      skip_space();
      if (at_ == end_) setstate(std::ios_base::eofbit);
    }
    return *this;
  }

  // [istream.unformatted], with -1 for the end of the text.
  int get() noexcept {
    if (!unformatted()) return -1;
    if (at_ != end_) return static_cast<unsigned char>(*at_++);
    setstate(kEnd);
    return -1;
  }
  itext& get(char& value) noexcept {
    if (const int got = get(); got >= 0) value = static_cast<char>(got);
    return *this;
  }
  [[nodiscard]] int peek() noexcept {
    if (!unformatted()) return -1;
    if (at_ != end_) return static_cast<unsigned char>(*at_);
    setstate(std::ios_base::eofbit);
    return -1;
  }
  itext& unget() noexcept {
    state_ = state_ & ~std::ios_base::eofbit;
    if (!unformatted()) return *this;
    if (at_ == begin_) {
      setstate(std::ios_base::badbit);
    } else {
      --at_;
    }
    return *this;
  }
  // Skips up to `count` characters, and none after the first `delimiter`.
  itext& ignore(std::streamsize count = 1, int delimiter = -1) noexcept {
    if (!unformatted()) return *this;
    const bool unlimited = count == std::numeric_limits<std::streamsize>::max();
    for (; count > 0; count -= unlimited ? 0 : 1) {
      if (at_ == end_) {
        setstate(std::ios_base::eofbit);
        break;
      }
      if (static_cast<unsigned char>(*at_++) == delimiter) break;
    }
    return *this;
  }

  // Callers write getline(in, line), without std::.
  template <class Traits, class Allocator>
  friend itext& getline(itext& in, std::basic_string<char, Traits, Allocator>& line,
                        char delimiter = '\n') {
    if (!in.unformatted()) return in;
    const char* const stop = in.find(delimiter);
    line.assign(in.at_, stop);
    in.end_line(stop);
    return in;
  }
  friend itext& getline(itext& in, std::string_view& line, char delimiter = '\n') noexcept {
    if (!in.unformatted()) return in;
    const char* const stop = in.find(delimiter);
    line = {in.at_, stop};
    in.end_line(stop);
    return in;
  }

 private:
  static constexpr iostate kEnd = std::ios_base::eofbit | std::ios_base::failbit;

  // The sentries of [istream.sentry].
  bool unformatted() noexcept {
    if (good()) return true;
    setstate(std::ios_base::failbit);
    return false;
  }
  bool ready() noexcept {
    if (!unformatted()) return false;
    if (!skips_) return true;
    skip_space();
    if (at_ != end_) return true;
    setstate(kEnd);
    return false;
  }
  void skip_space() noexcept {
    while (at_ != end_ && detail::is_space(*at_)) ++at_;
  }
  void end(detail::Scan scan) noexcept {
    at_ = scan.end;
    if (at_ == end_) setstate(std::ios_base::eofbit);
    if (!scan.ok) setstate(std::ios_base::failbit);
  }
  detail::Scan scan_word() const noexcept {
    const char* stop = at_;
    while (stop != end_ && !detail::is_space(*stop)) ++stop;
    return {stop, stop != at_};
  }
  const char* find(char delimiter) const noexcept {
    if (at_ == end_) return end_;
    const void* const found =
        std::memchr(at_, static_cast<unsigned char>(delimiter), rest().size());
    return found ? static_cast<const char*>(found) : end_;
  }
  void end_line(const char* stop) noexcept {
    const bool ended = stop != end_;
    if (!ended) setstate(stop == at_ ? kEnd : std::ios_base::eofbit);
    at_ = ended ? stop + 1 : stop;
  }

  const char* at_ = nullptr;
  const char* end_ = nullptr;
  const char* begin_ = nullptr;
  bool skips_ = true;
};

}  // namespace tmk
