// needs: sat::sat sat::generated
// The records of a SAT file to linked objects, read in several forms: the loop of a translator that
// took 3 s with one thread and 17 s with two, because each record had a std::istringstream. This is
// long because it reads the text once more, by other means, to check the objects. Pass 1 makes the
// objects, pass 2 fills them; parallel_for shares both. The input is generated and in memory.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <locale>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "bench.hpp"
#include "locales.hpp"
#include "sat/generated.hpp"
#include "sat/map.hpp"

namespace {

// What the objects hold of the file, so that two readers can be compared: references by their
// place in the record, and reals.
struct Sum {
  std::uint64_t references = 0;  // records that are named, each times its place
  std::uint64_t reals = 0;       // bits
  std::uint64_t counted = 0;     // references to any record, of all records
  friend bool operator==(const Sum&, const Sum&) = default;
};

class Adder {
 public:
  void reference(std::int64_t target) {
    ++place_;
    if (target < 0) return;
    sum_.references += place_ * (static_cast<std::uint64_t>(target) + 1);
  }
  void count(std::uint64_t references) { sum_.counted += references; }
  void real(double value) {
    sum_.reals = std::rotl(sum_.reals, 1) + std::bit_cast<std::uint64_t>(value);
  }
  void real(const sat::Vector& v) {
    real(v.x);
    real(v.y);
    real(v.z);
  }
  template <class... Ref>
  void references(Ref... each) {
    (reference(each == sat::kNull ? -1 : static_cast<std::int64_t>(each)), ...);
  }
  const Sum& sum() const { return sum_; }

 private:
  std::uint64_t place_ = 0;
  Sum sum_;
};

// The classes that are compared. Their fields are references, reals and words; the second one, the
// entity id, is left out.
constexpr std::array<std::string_view, 9> kCompared{
    "lump", "shell", "face", "loop", "coedge", "edge", "vertex", "point", "straight-curve"};

// By the functions of the C library, from the text alone.
Sum summed(const std::string& text) {
  Adder all;
  const char* at = text.c_str();
  for (int line = 0; line < 3; ++line) at = std::strchr(at, '\n') + 1;
  while (*at != '\0') {
    const char* const end = std::strchr(at, '\n');
    const char* token = at;
    const auto next = [&] {
      const char* const begin = token;
      while (*token != ' ' && *token != '\n') ++token;
      const std::string_view found(begin, static_cast<std::size_t>(token - begin));
      if (*token == ' ') ++token;
      return found;
    };
    const std::string_view name = next();
    for (const char* p = at; p < end; ++p) all.count(*p == '$' && p[1] >= '0' && p[1] <= '9');
    const bool compared = std::ranges::find(kCompared, name) != kCompared.end();
    for (int field = 0; compared && token < end && *token != '#'; ++field) {
      const char first = *token;
      if (first == '$') {
        all.reference(std::strtoll(token + 1, nullptr, 10));
      } else if (field != 1 && (first == '-' || (first >= '0' && first <= '9'))) {
        all.real(std::strtod(token, nullptr));
      }
      next();
    }
    at = end + 1;
  }
  return all.sum();
}

// The same of the objects.
Sum summed(const sat::Model& model) {
  Adder all;
  for (std::size_t i = 0; i < model.size(); ++i) {
    const auto record = static_cast<sat::Ref>(i);
    all.count(model.entity(record).handles);
    const auto shaped = [&](const auto& e, auto... each) {
      all.references(e.attribute, e.pattern, each...);
    };
    if (const auto* const lump = model.find<sat::Lump>(record)) {
      shaped(*lump, lump->next, lump->shell, lump->body);
    } else if (const auto* const shell = model.find<sat::Shell>(record)) {
      shaped(*shell, shell->next, shell->subshell, shell->face, shell->wire, shell->lump);
    } else if (const auto* const face = model.find<sat::Face>(record)) {
      shaped(*face, face->next, face->loop, face->shell, face->subshell, face->surface);
    } else if (const auto* const loop = model.find<sat::Loop>(record)) {
      shaped(*loop, loop->next, loop->coedge, loop->face);
    } else if (const auto* const use = model.find<sat::Coedge>(record)) {
      shaped(*use, use->next, use->previous, use->partner, use->edge, use->owner, use->pcurve);
    } else if (const auto* const edge = model.find<sat::Edge>(record)) {
      shaped(*edge, edge->start, edge->end, edge->coedge, edge->curve);
      all.real(edge->start_parameter);
      all.real(edge->end_parameter);
    } else if (const auto* const vertex = model.find<sat::Vertex>(record)) {
      shaped(*vertex, vertex->edge, vertex->point);
    } else if (const auto* const point = model.find<sat::Point>(record)) {
      shaped(*point);
      all.real(point->position);
    } else if (const auto* const line = model.find<sat::Straight>(record)) {
      shaped(*line);
      all.real(line->root);
      all.real(line->direction);
    }
  }
  return all.sum();
}

// A form of this program is one of the reader's, perhaps with something besides.
struct Chosen {
  const sat::Form* form;
  bool utf8;     // under the global locale C.UTF-8
  bool counted;  // each reference counts itself at its target
};
Chosen chosen(std::string_view name) {
  Chosen result{};
  const auto take = [&](std::string_view ending) {
    if (!name.ends_with(ending)) return false;
    name.remove_suffix(ending.size());
    return true;
  };
  result.utf8 = take("_utf8");
  result.counted = take("_counted");
  result.form = sat::find_form(name);
  return result;
}

class SatMapping final : public bench::Instance {
 public:
  explicit SatMapping(const bench::Arguments& arguments)
      : entities_(static_cast<std::uint64_t>(arguments["entities"])),
        seed_(arguments.seed()),
        chosen_(chosen(arguments.form())) {}

  void prepare() override {
    std::string text;
    sat::generate_file(seed_, entities_, [&](std::string_view part) { text += part; });
    expected_ = summed(text);
    if (!chosen_.counted) expected_.counted = 0;
    sat::Team alone(1);
    document_ = sat::read(sat::Bytes(text), alone);
    if (chosen_.utf8) std::locale::global(bench::locale_of(bench::Locale::utf8));
  }

  void clear() override {
    if (!model_) return;
    document_ = std::move(model_->document);
    model_.reset();
  }

  void run(bench::Form) override {
    const sat::MapOptions options{.form = chosen_.form, .counted = chosen_.counted};
    sat::Team team(kAsIfThreads,
                   [](std::size_t parts, const std::function<void(std::size_t)>& call) {
                     bench::parallel_for(parts, [&](std::size_t first, std::size_t last) {
                       for (std::size_t i = first; i < last; ++i) call(i);
                     });
                   });
    model_ = sat::make_objects(std::move(document_), team, options);
    bench::parallel_for(model_->size(), [&](std::size_t first, std::size_t last) {
      sat::Faults faults;
      chosen_.form->fill(*model_, sat::Range(first, last), chosen_.counted, faults, false);
      if (!faults.kept.empty()) throw std::runtime_error(faults.kept.front().what);
    });
  }

  bench::Check check() override {
    const Sum found = model_ ? summed(*model_) : Sum{};
    return {.ok = found == expected_,
            .answer = std::to_string(found.references),
            .reason =
                "the objects hold other references, reals or counts than the text, whose "
                "references add up to " +
                std::to_string(expected_.references)};
  }

 private:
  // Pass 1 is divided as for so many threads, whatever the backend has.
  static constexpr unsigned kAsIfThreads = 4;

  std::uint64_t entities_;
  std::uint64_t seed_;
  Chosen chosen_;
  Sum expected_;
  sat::Document document_;
  std::optional<sat::Model> model_;
};

// The library that is linked knows it, as it is compiled for a newer standard than this file.
std::string_view no_spanstream() {
  if (sat::find_form("spanstream") != nullptr) return {};
  return "this standard library has no std::ispanstream; libstdc++ has, from version 12 on";
}

}  // namespace

BENCH_PROGRAM(
        .name = "sat_mapping",
        .summary = "records of a SAT file to linked objects, whose fields are read in several ways",
        .structure = "loop", .granularity = "fine", .synchronisation = "none",
        .origin = "R. Lygin, Parallelizing C++ streams (2009)",
        .parameters = {{.name = "entities",
                        .meaning = "records, at least",
                        .min = 1,
                        .max = 20'000'000,
                        .smoke = 1'000,
                        .quick = 20'000,
                        .full = 110'000}},
        .parallel_for = true,
        .forms = {{"from_chars", "std::from_chars over the bytes of the file", true},
                  {"from_chars_counted",
                   "the same, and each reference counts itself at its target"},
                  {"tmk_text", "tmk::itext over the bytes of the file"},
                  {"spanstream", "a std::ispanstream for each record", false, no_spanstream()},
                  {"spanstream_utf8", "the same, the global locale is C.UTF-8", false,
                   no_spanstream()},
                  {"streams_reused", "one std::istringstream for a part of the records"},
                  {"streams_reused_utf8", "the same, the global locale is C.UTF-8"},
                  {"streams", "a std::istringstream for each record, as published"},
                  {"streams_utf8", "the same, the global locale is C.UTF-8", true},
                  {"streams_imbue", "a std::istringstream for each record, imbued with classic"},
                  {"streams_imbue_utf8", "the same, the global locale is C.UTF-8"}},
        .make = [](const bench::Arguments& arguments) -> std::unique_ptr<bench::Instance> {
          return std::make_unique<SatMapping>(arguments);
        })
