// The definitions.
#include "output.hpp"

#include <filesystem>

#include "complaint.hpp"

namespace students {
namespace {

constexpr const char* kOther = "another folder with --out";

}  // namespace

Output::Output(const std::string& folder, bool fsync) : folder_(folder), fsync_(fsync) {
  std::error_code error;
  const auto status = std::filesystem::status(folder, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    throw Failure("The folder " + folder + " does not exist; create it or choose another --out.");
  }
  if (error) throw write_failure(folder, error.value(), kOther);
  if (!std::filesystem::is_directory(status)) {
    throw Failure(folder + " is not a folder; choose another --out.");
  }
  for (std::size_t i = 0; i < kFiles; ++i) {
    files_[i].emplace((std::filesystem::path(folder) / kFileNames[i]).string(), kOther);
  }
}

std::array<std::uint64_t, kFiles> Output::commit() {
  std::array<std::uint64_t, kFiles> sizes{};
  for (std::size_t i = 0; i < kFiles; ++i) sizes[i] = files_[i]->finish(fsync_);
  for (std::optional<PartialFile>& file : files_) file->rename();
  if (fsync_) sync_folder(folder_, kOther);
  return sizes;
}

}  // namespace students
