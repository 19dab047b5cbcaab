// `tmk-sat generate`: a valid file of version 700 with solids of all sorts, as large as wanted.
#include <memory>
#include <string>
#include <vector>

#include "command.hpp"
#include "header.hpp"
#include "output.hpp"
#include "solids.hpp"
#include "students/interruption.hpp"
#include "write.hpp"

namespace sat {
namespace {

constexpr std::uint64_t kMostEntities = 1'000'000'000;

struct Given {
  std::string out;
  std::uint64_t seed = 1;
  std::uint64_t entities = 1000;
  bool measures = false;
};

// Where the records of each solid begin, as references go to what is written later.
struct Place {
  std::uint64_t first = 0;  // beside its body, which has the number of the solid
  std::size_t subtype = 0;
};

std::vector<Place> plan(const Given& given, std::uint64_t& records) {
  std::vector<Place> places;
  std::size_t subtype = 0;
  std::uint64_t others = 0;
  while (others + places.size() < given.entities) {
    students::check_signals();
    const Solid solid = make_solid(given.seed, places.size(), subtype);
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

std::string measures_text(const Solid& solid, std::size_t number) {
  std::string text = "  body " + std::to_string(number) + ": volume " + text_of(solid.volume());
  return text + "area " + (solid.area() > 0 ? text_of(solid.area()) : "unknown ") + "\n";
}

void generate(const Given& given) {
  Output output(given.out);
  std::uint64_t records = 0;
  const std::vector<Place> places = plan(given, records);
  constexpr std::size_t kPart = std::size_t{1} << 20;
  std::string text = header_text(records, places.size());
  const auto flush = [&](std::size_t least) {
    if (text.size() < least) return;
    output.write(text);
    text.clear();
  };
  for (std::size_t i = 0; i < places.size(); ++i) {
    text += make_solid(given.seed, i, places[i].subtype).body_record(places[i].first);
    flush(kPart);
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    make_solid(given.seed, i, places[i].subtype).append_records(i, places[i].first, text);
    flush(kPart);
  }
  text += "End-of-ACIS-data \n";
  flush(0);
  std::string said;
  for (std::size_t i = 0; given.measures && i < places.size(); ++i) {
    said += measures_text(make_solid(given.seed, i, places[i].subtype), i);
  }
  const std::uint64_t bytes = output.commit();
  print(given.out + ": " + std::to_string(bytes) + " bytes, " + std::to_string(records) +
        " records, " + std::to_string(places.size()) + " bodies\n" + said);
}

}  // namespace

Command add_generate(CLI::App& app) {
  const auto given = std::make_shared<Given>();
  app.add_option("-o,--out", given->out, "The file to write")->required()->type_name("FILE");
  add_number(app, "--seed", "The same seed gives the same file [1]", 0, UINT64_MAX, given->seed);
  add_number(app, "--entities", "At least so many records; the last solid is whole [1000]", 1,
             kMostEntities, given->entities);
  app.add_flag("--measures", given->measures,
               "Say the volume and area of each body by its formulas, in its unit, a millimetre");
  return [given] {
    generate(*given);
    return Outcome::kWhole;
  };
}

}  // namespace sat
