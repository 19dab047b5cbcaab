// `tmk-sat convert`: shapes of Open CASCADE out of the file's objects, in one of several formats.
#include <cmath>
#include <cstdio>
#include <memory>

#include "command.hpp"
#include "map.hpp"
#include "shapes/convert.hpp"
#include "students/interruption.hpp"
#include "students/partial_file.hpp"
#include "verify.hpp"

namespace sat {
namespace {

struct Given {
  Input input;
  std::string out;
  bool times = false;
  bool bodies = false;
};

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.12g", value);
  return text;
}

std::string findings(const Model& model, const char* title,
                     const std::vector<shapes::Finding>& all) {
  constexpr std::size_t kMost = 20;
  if (all.empty()) return {};
  Lines lines(model.document.bytes.view());
  std::string text = row(title, std::to_string(all.size()));
  for (std::size_t i = 0; i < all.size() && i < kMost; ++i) {
    text += "  " + sentence(model.problem(all[i].record, "", all[i].what + ".", lines)) + "\n";
  }
  if (all.size() > kMost) text += "  and " + std::to_string(all.size() - kMost) + " more.\n";
  return text;
}

std::string summary(const Model& model, const shapes::Report& report) {
  std::uint64_t solids = 0;
  std::uint64_t sheets = 0;
  std::uint64_t free_edges = 0;
  for (const shapes::Body& each : report.bodies) {
    solids += each.solids;
    sheets += each.sheets;
    free_edges += each.free_edges;
  }
  std::string text =
      row("bodies", std::to_string(report.bodies.size()) + ", with " + std::to_string(solids) +
                        " solids and " + std::to_string(sheets) + " sheets");
  text += row("faces", std::to_string(report.faces) + ", made " + std::to_string(report.made) +
                           ", valid " + std::to_string(report.valid));
  text += row("free edges", std::to_string(free_edges) + " in lumps that ought to be closed");
  text += findings(model, "not valid", report.doubts);
  return text;
}

std::string bodies_text(const Model& model, const shapes::Report& report) {
  std::string text;
  for (const shapes::Body& each : report.bodies) {
    text += each.record == kNull ? std::string("  of no body")
                                 : "  body " + std::to_string(model.numbers.of(each.record));
    text += ": volume " + number(each.volume) + " area " + number(each.area) + " solids " +
            std::to_string(each.solids) + " sheets " + std::to_string(each.sheets) +
            " free edges " + std::to_string(each.free_edges) + "\n";
  }
  return text;
}

std::string times_text(const shapes::Times& times) {
  char text[200];
  std::snprintf(text, sizeof text,
                "%.2f ms: geometry %.2f, edges %.2f, loops %.2f, wires %.2f, bodies %.2f, "
                "check %.2f; measures %.2f",
                times.all(), times.geometry, times.edges, times.loops, times.wires, times.bodies,
                times.check, times.measures);
  return row("shapes", text);
}

Outcome convert(const Given& given) {
  shapes::Conversion::require_kernel();
  const shapes::Format format = shapes::format_of(given.out);
  Outcome outcome = Outcome::kWhole;
  name_file(given.input, [&] {
    Team team = given.input.team();
    const bool partial = given.input.partial;
    const Model model = map(read(load(given.input.path, team.check()), team, {.partial = partial}),
                            team, {.partial = partial});
    std::vector<Problem> problems = model.problems;
    for (Problem& each : verify(model, partial ? kMostProblems : 1, team.check())) {
      if (!partial) throw BadFile(each);
      problems.push_back(std::move(each));
    }
    students::PartialFile file(given.out, "another file");
    const shapes::Conversion made(model, team, given.bodies);
    const shapes::Report& report = made.report();
    Lines lines(model.document.bytes.view());
    for (const shapes::Finding& each : report.missing) {
      problems.push_back(model.problem(each.record, "", each.what + ".", lines));
    }
    if (!partial && !problems.empty()) throw BadFile(problems.front());
    const std::uint64_t lost = made.write(format, file.path(), given.out, team);
    if (lost != 0) {
      problems.push_back({.what = std::to_string(lost) +
                                  " faces cannot be cut into triangles and are not in it."});
      if (!partial) throw BadFile(problems.front());
    }
    const std::uint64_t bytes = file.finish(/*fsync=*/false);
    students::check_signals();
    file.rename();
    std::string text = given.out + ": " + std::to_string(bytes) + " bytes\n";
    text += summary(model, report);
    if (given.bodies) text += bodies_text(model, report);
    if (given.times) text += times_text(report.times);
    print(text);
    outcome = print_problems(problems, model.more_problems);
  });
  return outcome;
}

}  // namespace

Command add_convert(students::Options options) {
  const auto given = std::make_shared<Given>();
  add_input(options, given->input);
  options.text("out", given->out, "The file to write: .step, .brep, .stl, .glb or .svg (a picture)")
      .required()
      .type("OUT");
  options.flag("--bodies", given->bodies, "Say volume and area of each body, in mm3 and mm2");
  options.flag("--times", given->times, "Say how long the steps took");
  return [given] { return convert(*given); };
}

}  // namespace sat
