// A Source over a standard stream. Begin says how a record gets its stream: that is the difference
// between the forms that share this.
#pragma once

#include <istream>
#include <string>

#include "fill.hpp"

namespace sat {

template <class Begin>
class StreamSource {
 public:
  void begin(std::string_view text) { begin_(text); }
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
  bool real(double& value) { return take(value); }
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
  // A whole token, as the other forms take.
  template <class T>
  bool take(T& value) {
    std::istream& in = begin_.stream();
    if (!(in >> value)) return false;
    return in.eof() || is_blank(static_cast<char>(in.peek())) || in.eof();
  }

  Begin begin_;
  std::string word_;
};

}  // namespace sat
