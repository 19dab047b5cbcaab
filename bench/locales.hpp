// The two locales that programs on streams and locales compare. A process has one global locale, so
// a way that replaces it has the process to itself.
#pragma once

#include <locale>
#include <sstream>
#include <stdexcept>

namespace bench {

enum class Locale { classic, utf8 };

inline std::locale locale_of(Locale which) {
  if (which == Locale::classic) return std::locale::classic();
  try {
    return std::locale("C.UTF-8");
  } catch (const std::runtime_error&) {
    throw std::runtime_error(
        "there is no locale C.UTF-8 here: make it with localedef -i POSIX -f UTF-8 C.UTF-8");
  }
}

// A locale object of one thread. It is made by the name of another locale, because a copy would
// count in that one.
class OwnLocale {
 public:
  explicit OwnLocale(const std::locale& like) : own_(like.name().c_str()) {}
  operator const std::locale&() const { return own_; }

 private:
  const std::locale own_;
};

// The text so far, without a copy if the library can (libc++ from 17 on).
inline auto written(const std::ostringstream& out) {
#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 170000
  return out.str();
#else
  return out.view();
#endif
}

}  // namespace bench
