// The definitions.
#include "map.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "characters.hpp"
#include "memory.hpp"

namespace sat {
namespace {

constexpr std::size_t kLeastRecords = 512;

using Counts = std::array<std::uint32_t, kKinds>;

// What a part of the records says of itself in the first pass.
struct Part {
  Counts kinds{};
  bool consecutive = true;  // its records' numbers follow one another
  std::int64_t first_number = 0;
  Faults faults;
};

void classify(Model& model, Range range, bool partial, Check check,
              std::vector<std::int64_t>& numbers, Part& part) {
  const Document& document = model.document;
  for (std::size_t i = range.first; i < range.last; ++i) {
    check_now_and_then(check, i);
    const std::string_view identifier = document.identifier(i);
    const Kind kind = kind_of(identifier);
    model.kinds[i] = kind;
    ++part.kinds[static_cast<std::size_t>(kind)];
    const bool named = !identifier.empty() && !begins_number(identifier[0]) &&
                       identifier[0] != '$' && identifier[0] != '@';
    bool numbered = true;
    if (document.numbered) {
      try {
        numbers[i] = document.written_number(i);
      } catch (const FieldError& error) {
        numbered = false;
        part.faults.add({.record = i, .field = error.field, .what = error.what()});
        numbers[i] = kAbsent + static_cast<std::int64_t>(i);
      }
      if (i == range.first) part.first_number = numbers[i];
      if (i > range.first && numbers[i] != numbers[i - 1] + 1) part.consecutive = false;
    }
    if (numbered && !named) {
      part.faults.add({.record = i,
                       .field = "identifier",
                       .what = "the name of a class is expected, not " + quoted(identifier) + "."});
    }
    if (!partial && !part.faults.kept.empty()) return;
  }
}

void take_numbers(Model& model, const std::vector<Part>& parts, std::vector<std::int64_t> numbers,
                  bool partial) {
  if (!model.document.numbered) {
    model.numbers.count_from(0, model.size());
    return;
  }
  bool consecutive = true;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t first = Range(model.size(), parts.size(), i).first;
    consecutive = consecutive && parts[i].consecutive;
    if (first != 0 && parts[i].first_number != numbers[first - 1] + 1) consecutive = false;
  }
  if (consecutive) {
    model.numbers.count_from(parts.front().first_number, model.size());
    return;
  }
  std::int64_t twice = 0;
  const std::vector<std::int64_t> kept = numbers;
  if (model.numbers.take(std::move(numbers), twice)) return;
  const auto first = std::ranges::find(kept, twice);
  const auto second = std::find(first + 1, kept.end(), twice);
  const auto record = static_cast<std::size_t>(second - kept.begin());
  Lines lines(model.document.bytes.view());
  const Problem problem = model.problem(static_cast<Ref>(record), "number",
                                        "an earlier record has the same number.", lines);
  if (!partial) throw BadFile(problem);
  model.keep(problem);
}

// Throws the first of all parts, or keeps them. In pass 1 records are counted, and a name that is
// none is not repeated.
void take_faults(Model& model, const std::vector<const Faults*>& parts, bool partial, bool named) {
  Lines lines(model.document.bytes.view());
  for (const Faults* const part : parts) {
    for (const Fault& each : part->kept) {
      if (model.problems.size() == kMostProblems) {
        ++model.more_problems;
        continue;
      }
      Problem problem = model.problem(static_cast<Ref>(each.record), each.field, each.what, lines);
      if (!named) problem.identifier.clear();
      if (!partial) throw BadFile(problem);
      model.keep(std::move(problem));
    }
    model.more_problems += part->more;
  }
}

void require_tables(const Document& document) {
  constexpr std::size_t kOfRecord = sizeof(Kind) + sizeof(std::uint32_t);
  const std::size_t each = kOfRecord + (document.numbered ? sizeof(std::int64_t) : 0);
  require_memory(document.frames.size() * each + document.subtypes * sizeof(Subtype),
                 "the tables of its records and subtypes");
}

void require_objects(const Counts& counts, std::size_t records) {
  std::uint64_t bytes = 0;
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    dispatch(static_cast<Kind>(kind), [&]<class T>() { bytes += counts[kind] * sizeof(T); });
  }
  require_memory(bytes, "the objects of its " + std::to_string(records) + " records");
}

}  // namespace

Model make_objects(Document document, Team& team, const MapOptions& options) {
  Model model;
  model.document = std::move(document);
  model.problems = std::move(model.document.problems);
  const std::size_t records = model.document.frames.size();
  require_tables(model.document);
  model.kinds.resize(records);
  model.places.resize(records);
  model.subtypes.resize(static_cast<std::size_t>(model.document.subtypes));
  std::vector<std::int64_t> numbers(model.document.numbered ? records : 0);
  std::vector<Part> parts(team.parts(records, kLeastRecords));
  team.each(parts.size(), [&](std::size_t i) {
    classify(model, Range(records, parts.size(), i), options.partial, team.check(), numbers,
             parts[i]);
  });
  std::vector<const Faults*> faults;
  for (const Part& each : parts) faults.push_back(&each.faults);
  take_faults(model, faults, options.partial, /*named=*/false);
  take_numbers(model, parts, std::move(numbers), options.partial);
  Counts next{};
  for (Part& each : parts) {
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      const std::uint32_t count = each.kinds[kind];
      each.kinds[kind] = next[kind];
      next[kind] += count;
    }
  }
  require_objects(next, records);
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    dispatch(static_cast<Kind>(kind), [&]<class T>() { model.all<T>().reserve(next[kind]); });
  }
  team.each(parts.size(), [&](std::size_t i) {
    Counts& places = parts[i].kinds;
    const Range range(records, parts.size(), i);
    for (std::size_t record = range.first; record < range.last; ++record) {
      check_now_and_then(team.check(), record);
      const Kind kind = model.kinds[record];
      const std::uint32_t place = places[static_cast<std::size_t>(kind)]++;
      model.places[record] = place;
      dispatch(kind, [&]<class T>() { model.all<T>().make(place); });
    }
  });
  return model;
}

void fill_objects(Model& model, Team& team, const MapOptions& options) {
  const Form& form = options.form != nullptr ? *options.form : forms().front();
  const std::size_t records = model.size();
  std::vector<Faults> faults(team.parts(records, kLeastRecords));
  team.each(faults.size(), [&](std::size_t i) {
    constexpr std::size_t kBlock = 4096;
    const Range range(records, faults.size(), i);
    for (std::size_t first = range.first; first < range.last; first += kBlock) {
      if (const Check check = team.check(); check != nullptr) check();
      const Range block(first, std::min(first + kBlock, range.last));
      form.fill(model, block, options.counted, faults[i], options.partial);
      if (!options.partial && !faults[i].kept.empty()) return;
    }
  });
  std::vector<const Faults*> parts;
  for (const Faults& each : faults) parts.push_back(&each);
  take_faults(model, parts, options.partial, /*named=*/true);
}

Model map(Document document, Team& team, const MapOptions& options) {
  Model model = make_objects(std::move(document), team, options);
  fill_objects(model, team, options);
  return model;
}

}  // namespace sat
