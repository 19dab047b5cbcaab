// `tmk-sat check`: checks every reference, every field against the schema, lists and rings, the
// data that would be lost, and whether the file written again is equal.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "command.hpp"
#include "map.hpp"
#include "students/interruption.hpp"
#include "verify.hpp"
#include "write.hpp"

namespace sat {
namespace {

// Records by what is not understood of them.
struct Losses {
  std::map<std::string, std::uint64_t> unknown;
  std::map<std::string, std::uint64_t> beyond;
  std::uint64_t attributes = 0;
  std::uint64_t constructions = 0;
};

Losses losses_of(const Model& model) {
  Losses losses;
  for (std::size_t i = 0; i < model.size(); ++i) {
    check_now_and_then(students::check_signals, i);
    const auto record = static_cast<Ref>(i);
    const std::string_view rest = model.entity(record).rest;
    // What a loop is (unknown, periphery ...) needs no more than its words.
    if (rest.empty() || model.kinds[i] == Kind::kLoop) continue;
    const std::string name = printable(model.document.identifier(i));
    const Kind kind = model.kinds[i];
    if (kind == Kind::kUnknown || kind == Kind::kOtherSurface || kind == Kind::kOtherCurve) {
      ++losses.unknown[name];
    } else if (kind == Kind::kAttribute) {
      ++losses.attributes;
    } else {
      ++losses.beyond[name];
    }
  }
  for (const Subtype& each : model.subtypes) losses.constructions += each.nurbs == nullptr;
  return losses;
}

// The most frequent first, those of one count by name. std::stable_sort calls what C++17
// deprecates.
std::string listed(const std::map<std::string, std::uint64_t>& counts) {
  constexpr std::size_t kMost = 20;
  std::vector<std::pair<std::string, std::uint64_t>> sorted(counts.begin(), counts.end());
  std::ranges::sort(sorted, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  std::string text;
  for (std::size_t i = 0; i < sorted.size() && i < kMost; ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(sorted[i].second) + " " + sorted[i].first;
  }
  if (sorted.size() > kMost) {
    text += " and " + std::to_string(sorted.size() - kMost) + " more classes";
  }
  return text.empty() ? "none" : text;
}

std::string losses_text(const Model& model) {
  const Losses losses = losses_of(model);
  std::string text = row("unknown", listed(losses.unknown) + " (kept as they are)");
  text += row("beyond", listed(losses.beyond) + " with fields that the schema lacks (kept)");
  text += row("attributes", std::to_string(losses.attributes) + " with data of their own (kept)");
  text += row("subtypes", std::to_string(model.subtypes.size()) + ", of which " +
                              std::to_string(losses.constructions) +
                              " are kept as text, without a B-spline");
  if (!model.document.header.names_line.empty()) {
    text += row("header", "the lengths of its texts are wrong; the line is kept as it is");
  }
  if (model.document.history) text += row("history", "skipped, and not written again");
  if (model.document.after_mark != 0) {
    text += row("after end", std::to_string(model.document.after_mark) + " characters ignored");
  }
  return text;
}

std::string round_trip(const Model& model, Team& team, std::vector<Problem>& problems) {
  const Document again = read(Bytes(write(model, team.check())), team, {.partial = true});
  std::string why;
  const Ref record = first_difference(model.document, again, why, team.check());
  if (record == kNull) return "equal";
  if (record < model.size()) {
    Lines lines(model.document.bytes.view());
    problems.push_back(model.problem(record, "", "written again, " + why + ".", lines));
  } else {
    problems.push_back({.what = "Written again, " + why + "."});
  }
  return "differs";
}

}  // namespace

Command add_check(students::Options options) {
  const auto input = std::make_shared<Input>();
  add_input(options, *input);
  return [input] {
    std::vector<Problem> problems;
    std::uint64_t more = 0;
    name_file(*input, [&] {
      Team team = input->team();
      Document document = read(load(input->path, team.check()), team, {.partial = input->partial});
      const Model model = map(std::move(document), team, {.partial = input->partial});
      problems = model.problems;
      more = model.more_problems;
      const bool mapped = problems.empty();
      for (Problem& each : verify(model, input->partial ? kMostProblems : 1, team.check())) {
        if (!input->partial) throw BadFile(each);
        problems.push_back(std::move(each));
      }
      std::string text = row("records", std::to_string(model.size()));
      text += row("fields", mapped ? "all as the schema wants them" : "see below");
      text += row("references", mapped ? "all name a record of a fitting class" : "see below");
      text += row("lists, rings", problems.empty() ? "end and close" : "see below");
      text += losses_text(model);
      // Objects that could not be filled are empty, so that a partial model says nothing of this.
      if (mapped) text += row("round trip", round_trip(model, team, problems));
      if (!input->partial && !problems.empty()) throw BadFile(problems.front());
      print(text);
    });
    return print_problems(problems, more);
  };
}

}  // namespace sat
