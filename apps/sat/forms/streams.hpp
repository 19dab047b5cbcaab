// A Source over a standard stream. Begin gives a record its stream, which is the only difference
// between the forms that use this Source.
#pragma once

#include <algorithm>
#include <istream>
#include <string>
#include <string_view>

#include "fill.hpp"

namespace sat {

template <class Begin>
class StreamSource {
 public:
  void begin(std::string_view text) {
    text_ = text;
    begin_(text);
  }
  char peek() {
    std::istream& in = begin_.stream();
    if (in.eof()) return '\0';
    in >> std::ws;
    return in.eof() ? '\0' : static_cast<char>(in.peek());
  }
  bool skip() {
    begin_.stream().get();
    return !is_blank(static_cast<char>(begin_.stream().peek()));
  }
  bool integer(std::int64_t& value) { return take(value); }
  bool real(double& value) { return take(value) || take_rare(value); }
  std::string_view word() {
    word_.clear();
    begin_.stream() >> word_;
    return word_;
  }
  std::size_t position() { return static_cast<std::size_t>(begin_.stream().tellg()); }
  void seek(std::size_t position) {
    begin_.stream().clear();
    begin_.stream().seekg(static_cast<std::streamoff>(position));
  }

 private:
  // Takes a whole token, as the other forms do.
  template <class T>
  bool take(T& value) {
    std::istream& in = begin_.stream();
    if (!(in >> value)) return false;
    return in.eof() || is_blank(static_cast<char>(in.peek())) || in.eof();
  }

  // libc++ refuses numbers below the least normal number, which the other forms accept.
  bool take_rare(double& value) {
    std::istream& in = begin_.stream();
    in.clear();
    const std::size_t read = std::min(position(), text_.size());
    const char* at = text_.data() + read;
    while (at != text_.data() && !is_blank(at[-1])) --at;
    if (!parse_rare_real(at, text_.data() + text_.size(), value)) return false;
    seek(static_cast<std::size_t>(at - text_.data()));
    return true;
  }

  Begin begin_;
  std::string_view text_;
  std::string word_;
};

}  // namespace sat
