// `tmk-sat replicate`: the bodies of a file many times in one. It copies texts except for the
// numbers of records and subtypes in them, so it also copies data that it does not understand.
#include <memory>
#include <string>

#include "characters.hpp"
#include "command.hpp"
#include "map.hpp"
#include "output.hpp"
#include "special.hpp"
#include "write.hpp"
#include "writer.hpp"

namespace sat {
namespace {

constexpr std::uint64_t kMostCopies = 1'000'000;

class Copier {
 public:
  Copier(const Model& model, std::uint64_t copies) : model_(model), copies_(copies) {
    const Document& document = model.document;
    // Bodies come first; not so where one has subtypes, since these count in the file's order.
    const auto tops = static_cast<std::size_t>(document.header.tops);
    const bool plain = tops == model.size() || document.frames[tops].subtypes == 0;
    tops_ = plain ? tops : 0;
  }

  std::size_t tops() const { return tops_; }

  // Record i of a copy as it is in the new file.
  std::uint64_t number(std::uint64_t copy, Ref i) const {
    const std::uint64_t others = model_.size() - tops_;
    return i < tops_ ? copy * tops_ + i : copies_ * tops_ + copy * others + (i - tops_);
  }

  void append(std::uint64_t copy, Ref record, std::string& out) const {
    const Document& document = model_.document;
    if (document.numbered) {
      out += '-';
      append_integer(static_cast<std::int64_t>(number(copy, record)), out);
      out += ' ';
    }
    const std::string_view whole = document.record(record);
    const char* const end = whole.data() + whole.size();
    const char* from = document.identifier(record).data();
    for (const char* at = from; (at = find_special<'$', '{', '@'>(at, end)) != end;) {
      const char which = *at++;
      if (at - 1 != whole.data() && !is_blank(at[-2])) continue;
      if (which == '$') {
        replace_reference(copy, from, at, end, out);
      } else if (which == '{') {
        replace_subtype(copy, from, at, end, out);
      } else if (document.header.has_ids()) {
        at = skip_string(at, end);
      }
    }
    out.append(from, end);
    out += "#\n";
  }

 private:
  void replace_reference(std::uint64_t copy, const char*& from, const char*& at, const char* end,
                         std::string& out) const {
    const char* p = at;
    std::int64_t value = 0;
    if (!parse_integer(p, end, value) || value < 0) return;
    out.append(from, at);
    append_integer(static_cast<std::int64_t>(number(copy, model_.numbers.find(value))), out);
    from = at = p;
  }

  // The number after `ref`, and from version 2500 on after the name of a definition.
  void replace_subtype(std::uint64_t copy, const char*& from, const char*& at, const char* end,
                       std::string& out) const {
    const char* p = skip_blanks(at, end);
    const std::string_view name = token_at(p, end);
    p = skip_blanks(p + name.size(), end);
    const Header& header = model_.document.header;
    const bool has_number = header.version >= 2500 && !header.asm_kernel();
    std::int64_t value = 0;
    const char* const before = p;
    if ((name != "ref" && !has_number) || !parse_integer(p, end, value)) return;
    // What no subtype has is no number of one.
    if (value < 0 || static_cast<std::uint64_t>(value) >= model_.subtypes.size()) return;
    out.append(from, before);
    append_integer(value + static_cast<std::int64_t>(copy * model_.subtypes.size()), out);
    from = at = p;
  }

  const Model& model_;
  std::uint64_t copies_;
  std::size_t tops_;
};

struct Given {
  Input input;
  std::string out;
  std::uint64_t copies = 2;
};

void check(const Given& given, const Model& model) {
  if (!model.document.dollars) {
    throw students::Failure(given.input.path + " writes references as plain numbers (version " +
                            std::to_string(model.document.header.version) +
                            "), which only a schema tells from others; choose a file with $.");
  }
  constexpr std::uint64_t kMostRecords = 4'000'000'000;
  if (model.size() != 0 && given.copies > kMostRecords / model.size()) {
    throw students::BadRequest("The new file would have more than " + std::to_string(kMostRecords) +
                               " records; choose at most " +
                               std::to_string(kMostRecords / model.size()) + " copies.");
  }
}

std::string header_text(const Model& model, std::uint64_t copies) {
  Header header = model.document.header;
  if (model.document.history) {  // its records may be among those that are counted
    header.records = 0;
    header.flags &= ~std::int64_t{1};
  }
  header.records *= static_cast<std::int64_t>(copies);
  header.tops *= static_cast<std::int64_t>(copies);
  header.has_key = false;  // it belongs to the contents
  std::string text;
  write_header(header, text);
  return text;
}

void replicate(const Given& given) {
  Team team = given.input.team();
  const Model model = map(read(load(given.input.path, team.check()), team), team);
  check(given, model);
  const Copier copier(model, given.copies);
  Output output(given.out);
  std::string text = header_text(model, given.copies);
  const auto copy = [&](std::uint64_t number, std::size_t first, std::size_t last) {
    constexpr std::size_t kPart = std::size_t{1} << 20;
    for (std::size_t i = first; i < last; ++i) {
      copier.append(number, static_cast<Ref>(i), text);
      if (text.size() < kPart) continue;
      output.write(text);
      text.clear();
    }
  };
  for (std::uint64_t i = 0; i < given.copies; ++i) copy(i, 0, copier.tops());
  for (std::uint64_t i = 0; i < given.copies; ++i) copy(i, copier.tops(), model.size());
  const std::string_view mark = model.document.mark;
  text += std::string(mark.empty() ? "End-of-ACIS-data" : mark) + " \n";
  output.write(text);
  const std::uint64_t bytes = output.commit();
  print(given.out + ": " + std::to_string(bytes) + " bytes, " +
        std::to_string(given.copies * model.size()) + " records\n");
}

}  // namespace

Command add_replicate(students::Options options) {
  const auto given = std::make_shared<Given>();
  options.text("file", given->input.path, "The SAT file").required().type("FILE");
  options
      .parsed(
          "copies",
          [given](const std::string& text) {
            const char* at = text.data();
            std::int64_t value = 0;
            const bool whole = parse_integer(at, text.data() + text.size(), value);
            if (!whole || value < 1 || static_cast<std::uint64_t>(value) > kMostCopies) {
              throw students::BadRequest("The number of copies must be from 1 to " +
                                         std::to_string(kMostCopies) + ", not '" + text + "'.");
            }
            given->copies = static_cast<std::uint64_t>(value);
          },
          "How many times")
      .required()
      .type("N");
  options.text("-o,--out", given->out, "The file to write").required().type("FILE");
  return [given] {
    name_file(given->input, [&] { replicate(*given); });
    return Outcome::kWhole;
  };
}

}  // namespace sat
