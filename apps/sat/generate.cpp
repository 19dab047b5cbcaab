// `tmk-sat generate`: a valid file of version 700 with solids of all sorts, of any size.
#include <memory>
#include <string>
#include <string_view>

#include "command.hpp"
#include "generated.hpp"
#include "output.hpp"
#include "solids.hpp"
#include "students/interruption.hpp"

namespace sat {
namespace {

constexpr std::uint64_t kMostEntities = 1'000'000'000;

struct Given {
  std::string out;
  std::uint64_t seed = 1;
  std::uint64_t entities = 1000;
  bool measures = false;
};

// Of each body, by the formulas of its sort.
std::string measures_text(std::uint64_t seed, std::uint64_t bodies) {
  std::string text;
  std::size_t subtype = 0;
  for (std::size_t i = 0; i < bodies; ++i) {
    students::check_signals();
    const Solid solid = make_solid(seed, i, subtype);
    subtype += solid.subtypes();
    text += "  body " + std::to_string(i) + ": volume " + text_of(solid.volume());
    text += "area " + (solid.area() > 0 ? text_of(solid.area()) : "unknown ") + "\n";
  }
  return text;
}

void generate(const Given& given) {
  Output output(given.out);
  const Generated made = generate_file(
      given.seed, given.entities, [&](std::string_view text) { output.write(text); },
      students::check_signals);
  const std::string said = given.measures ? measures_text(given.seed, made.bodies) : "";
  const std::uint64_t bytes = output.commit();
  print(given.out + ": " + std::to_string(bytes) + " bytes, " + std::to_string(made.records) +
        " records, " + std::to_string(made.bodies) + " bodies\n" + said);
}

}  // namespace

Command add_generate(students::Options options) {
  const auto given = std::make_shared<Given>();
  options.text("-o,--out", given->out, "The file to write").required().type("FILE");
  options.number("--seed", "The same seed gives the same file [1]", 0, UINT64_MAX, given->seed);
  options.number("--entities", "At least so many records; the last solid is whole [1000]", 1,
                 kMostEntities, given->entities);
  options.flag("--measures", given->measures,
               "Say the volume and area of each body by its formulas, in its unit, a millimetre");
  return [given] {
    generate(*given);
    return Outcome::kWhole;
  };
}

}  // namespace sat
