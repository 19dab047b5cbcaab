// The card's code on text_extract: it reads the same as an istringstream, also in failures.
#include <cassert>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <tmk/text.hpp>

namespace {

template <class Word>
struct Record {
  Word kind{}, left{};
  int number = -1;
  unsigned flags = 1;
  double x = -1, y = -1;
  bool good = false, end = false;
};

Record<std::string_view> by_tmk(const std::string& line) {
  Record<std::string_view> record;
  auto& [kind, left, number, flags, x, y, good, end] = record;
  // snippet
  good = bool(in);
  end = in.eof();
  left = in.rest();
  return record;
}

void compare(const std::string& line) {
  const Record<std::string_view> read = by_tmk(line);
  Record<std::string> expected;
  auto& [kind, left, number, flags, x, y, good, end] = expected;
  std::istringstream in(line);
  in >> kind >> number >> std::hex >> flags >> std::dec >> x >> y;
  assert(read.kind == kind && read.number == number && read.flags == flags);
  assert(read.x == x && read.y == y && read.good == bool(in) && read.end == in.eof());
  // No copy: the words lie in the line.
  assert(read.kind.empty() ||
         (read.kind.data() >= line.data() && read.kind.data() < line.data() + line.size()));
}

void all() {
  for (const char* line :
       {"coedge 12 ff 1.5 -2.5", "  coedge\t-12 0x10 +1 2e3 rest", "coedge 12 ff 1.5", "", " ",
        "coedge x", "coedge 99999999999 0 0 0", "vertex 1 2 3.25 4,5"}) {
    compare(line);
  }
}

}  // namespace

int main() {
  std::thread other(all);
  all();
  other.join();
}
