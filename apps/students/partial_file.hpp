// A file that is being written. It has a temporary name until it is whole, so that no reader takes
// a partial file for a whole one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace students {

class PartialFile {
 public:
  // Throws Failure if the target is a folder, a device or a pipe, whose place no file may take.
  static void refuse_special(const std::string& target, const std::string& other);

  // Makes an empty file beside the target. `other` names the alternative to the target, for the
  // remedy. Throws Failure.
  PartialFile(const std::string& target, const std::string& other);
  // The same with a temporary name that has this ending. Only the caller uses the name: an existing
  // file is the remains of a killed process, and is overwritten.
  PartialFile(const std::string& target, const std::string& other, const std::string& ending);
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;
  ~PartialFile();  // removes a file without its final name

  // The temporary path, for writers that open it themselves.
  const std::string& path() const { return path_; }
  // The final path of the file.
  const std::string& target() const { return target_; }

  // Appends the text. Throws Failure.
  void write(std::string_view text) const;
  // Writes the text at this offset. Any threads may write different parts. Throws Failure.
  void write_at(std::uint64_t offset, std::string_view text) const;

  // Closes the file, with `fsync` after it is on the device, and returns its number of bytes.
  std::uint64_t finish(bool fsync);
  // Gives the finished file its name, in place of an earlier file.
  void rename();
  // Instead of rename(): an earlier file of this name takes the place of the written file, so this
  // object removes it; rename() gives it its name back. False if there is none. Throws Failure.
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
