// The definitions.
#include "generated.hpp"

#include <string>
#include <vector>

#include "header.hpp"
#include "solids.hpp"
#include "write.hpp"

namespace sat {
namespace {

// Where the records of each solid begin, as references go to what is written later.
struct Place {
  std::uint64_t first = 0;  // beside its body, which has the number of the solid
  std::size_t subtype = 0;
};

std::vector<Place> plan(std::uint64_t seed, std::uint64_t entities, Check check,
                        std::uint64_t& records) {
  std::vector<Place> places;
  std::size_t subtype = 0;
  std::uint64_t others = 0;
  while (others + places.size() < entities) {
    if (check != nullptr) check();
    const Solid solid = make_solid(seed, places.size(), subtype);
    places.push_back({others, subtype});
    others += solid.records();
    subtype += solid.subtypes();
  }
  for (Place& each : places) each.first += places.size();
  records = others + places.size();
  return places;
}

std::string header_text(std::uint64_t records, std::size_t bodies) {
  Header header;
  header.version = 700;
  header.records = static_cast<std::int64_t>(records);
  header.tops = static_cast<std::int64_t>(bodies);
  header.has_names = true;
  header.product = "tmk-sat generate";
  header.kernel = "ACIS 7.0";
  header.date = "Thu Jan 01 00:00:00 1970";  // the same seed gives the same bytes
  header.has_units = true;
  header.millimetres = 1;
  header.resabs = 1e-6;
  header.resnor = 1e-10;
  std::string text;
  write_header(header, text);
  return text;
}

}  // namespace

Generated generate_file(std::uint64_t seed, std::uint64_t entities,
                        const std::function<void(std::string_view)>& take, Check check) {
  std::uint64_t records = 0;
  const std::vector<Place> places = plan(seed, entities, check, records);
  constexpr std::size_t kPart = std::size_t{1} << 20;
  std::string text = header_text(records, places.size());
  const auto flush = [&](std::size_t least) {
    if (text.size() < least) return;
    take(text);
    text.clear();
  };
  for (std::size_t i = 0; i < places.size(); ++i) {
    text += make_solid(seed, i, places[i].subtype).body_record(places[i].first);
    flush(kPart);
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    make_solid(seed, i, places[i].subtype).append_records(i, places[i].first, text);
    flush(kPart);
  }
  text += "End-of-ACIS-data \n";
  flush(0);
  return {.records = records, .bodies = places.size()};
}

}  // namespace sat
