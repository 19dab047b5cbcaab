// The definitions.
#include "output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "complaint.hpp"

namespace students {

Output::Output(const std::string& folder, bool fsync) : folder_(folder), fsync_(fsync) {
  std::error_code error;
  const auto status = std::filesystem::status(folder, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    throw Failure("The folder " + folder + " does not exist; create it or choose another --out.");
  }
  if (error) throw write_failure(folder, error.value());
  if (!std::filesystem::is_directory(status)) {
    throw Failure(folder + " is not a folder; choose another --out.");
  }
  try {
    for (std::size_t i = 0; i < kFiles; ++i) {
      open(files_[i], (std::filesystem::path(folder) / kFileNames[i]).string());
    }
  } catch (...) {
    remove();
    throw;
  }
}

Output::~Output() { remove(); }

void Output::open(One& file, const std::string& target) {
  file.target = target;
  if (std::error_code error; std::filesystem::is_directory(target, error)) {
    throw Failure(target + " is a folder; remove it or choose another --out.");
  }
  // Another process that was killed may have left a file of this name.
  for (int attempt = 0; attempt < 100; ++attempt) {
    file.path = target + ".partial-" + std::to_string(getpid()) + "-" + std::to_string(attempt);
    file.descriptor = ::open(file.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file.descriptor >= 0 || errno != EEXIST) break;
  }
  if (file.descriptor < 0) throw write_failure(target, errno);
  file.exists = true;
}

void Output::write_all(const One& file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file.descriptor, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      throw write_failure(file.target, errno);
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::array<std::uint64_t, kFiles> Output::commit() {
  std::array<std::uint64_t, kFiles> sizes{};
  for (std::size_t i = 0; i < kFiles; ++i) {
    One& file = files_[i];
    struct stat facts{};
    if (fstat(file.descriptor, &facts) != 0) throw write_failure(file.target, errno);
    sizes[i] = static_cast<std::uint64_t>(facts.st_size);
    if (fsync_ && ::fsync(file.descriptor) != 0) throw write_failure(file.target, errno);
    const int descriptor = file.descriptor;
    file.descriptor = -1;
    // Some file systems report only now that the disk is full.
    if (close(descriptor) != 0 && errno != EINTR) throw write_failure(file.target, errno);
  }
  for (One& file : files_) {
    if (std::rename(file.path.c_str(), file.target.c_str()) != 0) {
      throw write_failure(file.target, errno);
    }
    file.exists = false;
  }
  if (fsync_) {
    const int descriptor = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool synced = descriptor >= 0 && ::fsync(descriptor) == 0;
    const int error = errno;
    if (descriptor >= 0) close(descriptor);
    if (!synced) throw write_failure(folder_, error);
  }
  return sizes;
}

void Output::remove() noexcept {
  for (One& file : files_) {
    if (file.descriptor >= 0) close(file.descriptor);
    if (file.exists) unlink(file.path.c_str());
    file.descriptor = -1;
    file.exists = false;
  }
}

}  // namespace students
