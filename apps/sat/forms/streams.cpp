// A std::istringstream for each record, as in the published program: it copies the global locale,
// whose count all threads share.
#include <optional>
#include <sstream>

#include "streams.hpp"

namespace sat {
namespace {

struct New {
  void operator()(std::string_view text) { in.emplace(std::string(text)); }
  std::istream& stream() { return *in; }
  std::optional<std::istringstream> in;
};

}  // namespace

void fill_streams(Model& model, Range records, bool counts, Faults& faults, bool partial) {
  fill_records<StreamSource<New>>(model, records, counts, faults, partial);
}

}  // namespace sat
