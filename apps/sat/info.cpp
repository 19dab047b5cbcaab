// `tmk-sat info`: prints the header, and the number of records of each class.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <unordered_map>

#include "command.hpp"
#include "entities.hpp"
#include "students/interruption.hpp"
#include "writer.hpp"

namespace sat {
namespace {

std::string real_text(double value) {
  std::string text;
  append_real(value, text);
  return text;
}

std::string version_text(const Header& header) {
  const std::string number = std::to_string(header.version);
  if (header.asm_kernel()) {
    return number + " (Autodesk's ASM " + std::to_string(header.version / 100) + ")";
  }
  return number + " (ACIS " + std::to_string(header.version / 100) + "." +
         std::to_string(header.version % 100) + ")";
}

// As it may be shown on a terminal.
std::string shown(std::string_view text) {
  std::string result;
  for (const char each : text) {
    const auto code = static_cast<unsigned char>(each);
    result += code < 0x20 || code == 0x7f ? ' ' : each;
  }
  return result;
}

std::string header_text(const Input& input, const Document& document) {
  const Header& header = document.header;
  std::string text =
      row("file", input.path + ", " + std::to_string(document.bytes.view().size()) + " bytes");
  text += row("version", version_text(header));
  if (!header.names_line.empty()) {
    text += row("producer", shown(header.names_line) + " (lengths are wrong)");
  } else if (header.has_names) {
    text += row("product", shown(header.product));
    text += row("kernel", shown(header.kernel));
    text += row("date", shown(header.date));
  }
  text += row("unit", unit_name(header) + (header.has_units && header.millimetres > 0
                                               ? " (" + real_text(header.millimetres) + " mm)"
                                               : ""));
  if (header.has_units) {
    text += row("tolerances",
                "resabs " + real_text(header.resabs) + ", resnor " + real_text(header.resnor));
  }
  text += row("records", std::to_string(document.frames.size()) +
                             (document.numbered ? ", numbered" : ", not numbered"));
  text += row("subtypes", std::to_string(document.subtypes));
  if (document.history) text += row("history", "skipped");
  return text;
}

std::string classes_text(const Document& document) {
  std::unordered_map<std::string_view, std::uint64_t> counts;
  for (std::size_t i = 0; i < document.frames.size(); ++i) {
    check_now_and_then(students::check_signals, i);
    ++counts[document.identifier(i)];
  }
  std::vector<std::pair<std::string_view, std::uint64_t>> sorted(counts.begin(), counts.end());
  std::ranges::sort(sorted, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  std::string text = "\n";
  for (const auto& [name, count] : sorted) {
    const std::string number = std::to_string(count);
    text += std::string(number.size() < 10 ? 10 - number.size() : 0, ' ') + number + "  " +
            shown(name.substr(0, 100)) +
            (kind_of(name) == Kind::kUnknown ? "  (not in the schema)" : "") + "\n";
  }
  return text;
}

}  // namespace

Command add_info(students::Options options) {
  const auto input = std::make_shared<Input>();
  add_input(options, *input);
  return [input] {
    std::vector<Problem> problems;
    name_file(*input, [&] {
      Team team = input->team();
      Document document = read(load(input->path, team.check()), team, {.partial = input->partial});
      print(header_text(*input, document) + classes_text(document));
      problems = std::move(document.problems);
    });
    return print_problems(problems);
  };
}

}  // namespace sat
