// The definitions.
#include "problem.hpp"

namespace sat {

std::string printable(std::string_view text) {
  constexpr std::size_t kMost = 60;
  std::string result;
  for (const char each : text.substr(0, kMost)) {
    const auto code = static_cast<unsigned char>(each);
    result += code < 0x20 || code >= 0x7f ? '?' : each;
  }
  return result + (text.size() > kMost ? "..." : "");
}

std::string quoted(std::string_view text) {
  std::string result(1, '\'');
  result += printable(text);
  result += '\'';
  return result;
}

std::string reference_text(std::int64_t number) {
  std::string text(1, '$');
  text += std::to_string(number);
  return text;
}

std::string sentence(const Problem& problem) {
  std::string place;
  const auto add = [&place](const std::string& part) {
    place += (place.empty() ? "" : ", ") + part;
  };
  if (problem.line != 0) add("line " + std::to_string(problem.line));
  if (problem.record != kNoRecord) {
    const std::string name =
        problem.identifier.empty() ? "" : " (" + printable(problem.identifier) + ")";
    add("record " + std::to_string(problem.record) + name);
  }
  if (!problem.field.empty()) add("field " + problem.field);
  return (place.empty() ? "" : place + ": ") + problem.what;
}

}  // namespace sat
