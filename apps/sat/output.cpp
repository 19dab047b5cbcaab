// The definitions.
#include "output.hpp"

#include <cstddef>

#include "students/interruption.hpp"

namespace sat {

void Output::write(std::string_view text) {
  constexpr std::size_t kPart = std::size_t{4} << 20;
  while (!text.empty()) {
    students::check_signals();
    const std::string_view part = text.substr(0, kPart);
    file_.write(part);
    text.remove_prefix(part.size());
  }
}

std::uint64_t Output::commit() {
  const std::uint64_t bytes = file_.finish(/*fsync=*/false);
  students::check_signals();
  file_.rename();
  return bytes;
}

}  // namespace sat
