// The definitions.
#include "partial_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "complaint.hpp"

namespace students {

PartialFile::PartialFile(const std::string& target, const std::string& other)
    : target_(target), other_(other) {
  refuse_special(target, other);
  // Another process that was killed may have left a file of this name.
  for (int attempt = 0; attempt < 100; ++attempt) {
    path_ = target + ".partial-" + std::to_string(getpid()) + "-" + std::to_string(attempt);
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ >= 0 || errno != EEXIST) break;
  }
  if (descriptor_ < 0) throw write_failure(target, errno, other);
  exists_ = true;
}

PartialFile::PartialFile(const std::string& target, const std::string& other,
                         const std::string& ending)
    : target_(target), other_(other), path_(target + ending) {
  refuse_special(target, other);
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw write_failure(target, errno, other);
  exists_ = true;
}

PartialFile::~PartialFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (exists_) unlink(path_.c_str());
}

void PartialFile::refuse_special(const std::string& target, const std::string& other) {
  std::error_code error;
  const auto status = std::filesystem::status(target, error);
  if (std::filesystem::is_directory(status)) {
    throw Failure(target + " is a folder; remove it or choose " + other + ".");
  }
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw Failure(target + " is not a regular file; choose " + other + ".");
  }
}

void PartialFile::write(std::string_view text) const {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      throw write_failure(target_, errno, other_);
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void PartialFile::write_at(std::uint64_t offset, std::string_view text) const {
  while (!text.empty()) {
    const ssize_t written =
        ::pwrite(descriptor_, text.data(), text.size(), static_cast<off_t>(offset));
    if (written < 0) {
      if (errno == EINTR) continue;
      throw write_failure(target_, errno, other_);
    }
    text.remove_prefix(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
}

std::uint64_t PartialFile::finish(bool fsync) {
  struct stat facts{};
  if (fstat(descriptor_, &facts) != 0) throw write_failure(target_, errno, other_);
  if (fsync && ::fsync(descriptor_) != 0) throw write_failure(target_, errno, other_);
  const int descriptor = descriptor_;
  descriptor_ = -1;
  // Some file systems report only now that the disk is full.
  if (close(descriptor) != 0 && errno != EINTR) throw write_failure(target_, errno, other_);
  return static_cast<std::uint64_t>(facts.st_size);
}

void PartialFile::rename() {
  if (std::rename(path_.c_str(), target_.c_str()) != 0) {
    throw write_failure(target_, errno, other_);
  }
  exists_ = false;
}

bool PartialFile::put_target_aside() const {
  if (std::rename(target_.c_str(), path_.c_str()) == 0) return true;
  if (errno == ENOENT) return false;
  throw Failure(target_ + " of an earlier run cannot be removed (" + std::strerror(errno) +
                "); remove it or choose " + other_ + ".");
}

void sync_folder(const std::string& folder, const std::string& other) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = descriptor >= 0 && ::fsync(descriptor) == 0;
  const int error = errno;
  if (descriptor >= 0) close(descriptor);
  if (!synced) throw write_failure(folder, error, other);
}

}  // namespace students
