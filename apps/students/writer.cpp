// The definitions.
#include "writer.hpp"

#include <algorithm>

namespace students {
namespace {

std::vector<Writer>& registered() {
  static std::vector<Writer> all;
  return all;
}

}  // namespace

const std::vector<Writer>& writers() { return registered(); }

Registration::Registration(const Writer& writer) {
  const auto place = std::ranges::upper_bound(registered(), writer.name, {}, &Writer::name);
  registered().insert(place, writer);
}

}  // namespace students
