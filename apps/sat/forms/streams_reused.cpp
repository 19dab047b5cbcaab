// One std::istringstream for a range of records; each record gives it another text.
#include <sstream>

#include "streams.hpp"

namespace sat {
namespace {

struct Reused {
  void operator()(std::string_view text) {
    in.clear();
    in.str(std::string(text));
  }
  std::istream& stream() { return in; }
  std::istringstream in;
};

}  // namespace

void fill_streams_reused(Model& model, Range records, bool counts, Faults& faults, bool partial) {
  fill_records<StreamSource<Reused>>(model, records, counts, faults, partial);
}

}  // namespace sat
