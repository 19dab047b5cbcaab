// The definitions.
#include "result_files.hpp"

#include <filesystem>
#include <string_view>

#include "../data.hpp"

namespace students {

std::string list_of(const std::string& target) { return target + ".incomplete"; }

void check_target(const std::string& target, const std::string& folder) {
  if (target.empty()) throw BadRequest("-o needs the name of a file.");
  for (const std::string& path : {target, list_of(target)}) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (!std::filesystem::exists(status)) continue;
    for (const std::string_view name : kFileNames) {
      if (std::filesystem::equivalent(path, std::filesystem::path(folder) / name, error)) {
        throw BadRequest(path + " is one of the four files; choose " + kOtherResult + ".");
      }
    }
    PartialFile::refuse_special(path, kOtherResult);
  }
}

void publish(PartialFile& result, PartialFile& list, bool anybody_incomplete) {
  result.finish(false);
  list.finish(false);
  if (anybody_incomplete) {
    list.rename();
    result.rename();
    return;
  }
  const bool earlier = list.put_target_aside();
  try {
    result.rename();
  } catch (...) {
    if (earlier) list.rename();
    throw;
  }
}

std::string above_sentence(std::uint64_t lines, std::uint32_t maximum) {
  return std::to_string(lines) + " lines have points above " + std::to_string(maximum) +
         ", which count in full; choose the maximum with --points.";
}

Incomplete incomplete_students(std::uint64_t count, const std::string& target) {
  return Incomplete(std::to_string(count) + " students are not in all four files; " +
                    list_of(target) + " lists them with the files that lack them.");
}

}  // namespace students
