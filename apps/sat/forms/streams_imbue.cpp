// The same with the classic locale imbued in each stream, as readers of the published program
// proposed.
#include <locale>
#include <optional>
#include <sstream>

#include "streams.hpp"

namespace sat {
namespace {

struct NewClassic {
  void operator()(std::string_view text) {
    in.emplace(std::string(text));
    in->imbue(std::locale::classic());
  }
  std::istream& stream() { return *in; }
  std::optional<std::istringstream> in;
};

}  // namespace

void fill_streams_imbue(Model& model, Range records, bool counts, Faults& faults, bool partial) {
  fill_records<StreamSource<NewClassic>>(model, records, counts, faults, partial);
}

}  // namespace sat
