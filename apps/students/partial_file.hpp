// A file that is being written. It has a temporary name until it is whole, so that nobody takes a
// part of it for the whole one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace students {

class PartialFile {
 public:
  // Throws Failure if the target is a folder, a device or a pipe, whose place no file may take.
  static void refuse_special(const std::string& target, const std::string& other);

  // Makes an empty file beside the target. `other` names the remedy: what to choose instead of the
  // target. Throws Failure.
  PartialFile(const std::string& target, const std::string& other);
  // Likewise, with a temporary name that ends so. The caller alone uses it: a file that is there
  // was left by a process that was killed, and is begun anew.
  PartialFile(const std::string& target, const std::string& other, const std::string& ending);
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;
  ~PartialFile();  // removes what has no name yet

  // The temporary path, for writers that open it themselves.
  const std::string& path() const { return path_; }
  // The path that it is to have.
  const std::string& target() const { return target_; }

  // Appends the text. Throws Failure.
  void write(std::string_view text) const;
  // Writes the text at this offset. Any threads may write different parts. Throws Failure.
  void write_at(std::uint64_t offset, std::string_view text) const;

  // Closes the file, with fsync after it is on the device, and returns how many bytes it has.
  std::uint64_t finish(bool fsync);
  // Gives it its name, in place of an earlier file; it was finished.
  void rename();
  // Instead of rename(): an earlier file of this name takes the place of what was written, so that
  // it is removed with this object; rename() gives it its name back. False if there is none. Throws
  // Failure.
  bool put_target_aside() const;

 private:
  std::string target_;
  std::string other_;
  std::string path_;
  int descriptor_ = -1;
  bool exists_ = false;
};

// Makes sure that names in this folder are on the device. Throws Failure.
void sync_folder(const std::string& folder, const std::string& other);

}  // namespace students
