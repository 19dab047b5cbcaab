// The four files of a run. They have temporary names until all are whole, so that no reader takes a
// partial file for a whole one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "data.hpp"
#include "partial_file.hpp"

namespace students {

class Output {
 public:
  // Makes four empty files in the folder, or throws Failure. The destructor removes files that were
  // not committed.
  Output(const std::string& folder, bool fsync);

  // The temporary path of a file, for writers that open it themselves.
  const std::string& path(File file) const { return files_[file]->path(); }
  // The final path of the file.
  const std::string& target(File file) const { return files_[file]->target(); }

  // Appends the text to the file. Several threads may write to different files. Throws Failure.
  void write(File file, std::string_view text) { files_[file]->write(text); }

  // Gives the files their names, in place of earlier ones, and returns the bytes of each. With
  // fsync the files and their names are then on the device. Throws Failure.
  std::array<std::uint64_t, kFiles> commit();

 private:
  std::string folder_;
  bool fsync_;
  std::array<std::optional<PartialFile>, kFiles> files_;
};

}  // namespace students
