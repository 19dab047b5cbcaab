// Fuzzes tmk::itext against std::istringstream: the first byte of each pair selects the extraction,
// the rest is the text. With libc++ only sanitizers judge, because its streams read otherwise.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <locale>
#include <sstream>
#include <string>
#include <string_view>

#include "tmk/text.hpp"

namespace {

#if defined(_LIBCPP_VERSION)
constexpr bool compares = false;
#else
constexpr bool compares = true;
#endif

void require(bool holds, const char* what) {
  if (holds || !compares) return;
  std::fprintf(stderr, "fuzz.text: another %s\n", what);
  std::abort();
}

template <class T>
void extract(tmk::itext& ours, std::istringstream& theirs) {
  T our_value{};
  T their_value{};
  ours >> our_value;
  theirs >> their_value;
  require(our_value == their_value, "value");
}

void step(std::uint8_t what, tmk::itext& ours, std::istringstream& theirs) {
  if ((what & 16) != 0) {
    ours.clear();
    theirs.clear();
  }
  if ((what & 32) != 0) {
    ours >> std::hex;
    theirs >> std::hex;
  }
  if ((what & 64) != 0) {
    ours >> std::dec;
    theirs >> std::dec;
  }
  switch (what % 16) {
    case 0:
      return extract<short>(ours, theirs);
    case 1:
      return extract<unsigned short>(ours, theirs);
    case 2:
      return extract<int>(ours, theirs);
    case 3:
      return extract<unsigned>(ours, theirs);
    case 4:
      return extract<long>(ours, theirs);
    case 5:
      return extract<unsigned long>(ours, theirs);
    case 6:
      return extract<bool>(ours, theirs);
    case 7:
      return extract<char>(ours, theirs);
    case 8:
      return extract<std::string>(ours, theirs);
    case 9:
      return extract<float>(ours, theirs);
    case 10:
      return extract<long double>(ours, theirs);
    case 11:
      return require(ours.get() == theirs.get(), "character");
    default:
      return extract<double>(ours, theirs);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::size_t steps = size < 8 ? size : 8;
  const std::string text(reinterpret_cast<const char*>(data) + steps, size - steps);
  tmk::itext ours(text);
  std::istringstream theirs(text);
  theirs.imbue(std::locale::classic());
  for (std::size_t i = 0; i < steps; ++i) {
    step(data[i], ours, theirs);
    require(ours.rdstate() == theirs.rdstate(), "state");
    const auto place = theirs.rdbuf()->pubseekoff(0, std::ios::cur, std::ios::in);
    require(ours.position() == static_cast<std::size_t>(std::streamoff(place)), "place");
  }
  return 0;
}
