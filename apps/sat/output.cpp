// The definitions.
#include "output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "students/complaint.hpp"
#include "students/interruption.hpp"

namespace sat {
namespace {

[[noreturn]] void refuse(const std::string& path, int error) {
  const bool full = error == ENOSPC || error == EDQUOT;
  throw students::Failure(path + " cannot be written (" + std::strerror(error) + "); " +
                          (full ? "free some space or " : "") + "choose another file with --out.");
}

}  // namespace

Output::Output(std::string target) : target_(std::move(target)) {
  if (std::error_code error; std::filesystem::is_directory(target_, error)) {
    throw students::Failure(target_ + " is a folder; choose another file with --out.");
  }
  // Another process that was killed may have left a file of this name.
  for (int attempt = 0; attempt < 100; ++attempt) {
    path_ = target_ + ".partial-" + std::to_string(getpid()) + "-" + std::to_string(attempt);
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ >= 0 || errno != EEXIST) break;
  }
  if (descriptor_ < 0) refuse(target_, errno);
  exists_ = true;
}

Output::~Output() {
  if (descriptor_ >= 0) close(descriptor_);
  if (exists_) unlink(path_.c_str());
}

void Output::write(std::string_view text) {
  bytes_ += text.size();
  while (!text.empty()) {
    students::check_signals();
    constexpr std::size_t kPart = std::size_t{4} << 20;
    const ssize_t written = ::write(descriptor_, text.data(), std::min(text.size(), kPart));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) refuse(target_, errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::uint64_t Output::commit() {
  const int descriptor = std::exchange(descriptor_, -1);
  // Some file systems report only now that the disk is full.
  if (close(descriptor) != 0 && errno != EINTR) refuse(target_, errno);
  students::check_signals();
  if (std::rename(path_.c_str(), target_.c_str()) != 0) refuse(target_, errno);
  exists_ = false;
  return bytes_;
}

}  // namespace sat
