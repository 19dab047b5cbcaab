// A std::ispanstream over the bytes of each record, without a copy of them. libc++ 19 has none.
#include <version>

#include "fill.hpp"

#if defined(__cpp_lib_spanstream)
#include <optional>
#include <span>
#include <spanstream>

#include "streams.hpp"

namespace sat {
namespace {

struct OverBytes {
  void operator()(std::string_view text) {
    in.emplace(std::span<const char>(text.data(), text.size()));
  }
  std::istream& stream() { return *in; }
  std::optional<std::ispanstream> in;
};

}  // namespace

void fill_spanstream(Model& model, Range records, bool counts, Faults& faults, bool partial) {
  fill_records<StreamSource<OverBytes>>(model, records, counts, faults, partial);
}

}  // namespace sat
#endif
