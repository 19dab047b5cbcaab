// sat::load: the bytes of a file, if there is memory for them and for their objects.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>

#include "document.hpp"
#include "memory.hpp"

namespace sat {
namespace {

// What mapping takes beside the bytes of the file: an estimate, twice what real files take. Records
// of a few characters take more; require_memory() finds that out before their objects are made.
constexpr std::uint64_t kObjectsPerByte = 3;
// Less is not worth the reading of what is free.
constexpr std::uint64_t kLeastRequired = std::uint64_t{16} << 20;

std::uint64_t number_in(const std::string& path, const std::string& word) {
  std::ifstream file(path);
  std::string key;
  while (file >> key) {
    std::uint64_t number = 0;
    if (word.empty()) return key == "max" ? 0 : std::strtoull(key.c_str(), nullptr, 10);
    if (key == word && file >> number) return number;
  }
  return 0;
}

class File {
 public:
  explicit File(const std::string& path) : path_(path) {
    // Asked before it is opened, since to open a pipe is to wait for somebody who writes into it.
    struct stat facts{};
    if (stat(path.c_str(), &facts) == 0) require_file(facts);
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0) refuse(errno);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  std::uint64_t size() const {
    struct stat facts{};
    if (fstat(descriptor_, &facts) != 0) refuse(errno);
    require_file(facts);
    return static_cast<std::uint64_t>(facts.st_size);
  }

  // Bytes read; fewer than `size` only at the end of the file.
  std::size_t read(char* into, std::size_t size, Check check) const {
    constexpr std::size_t kPart = std::size_t{16} << 20;
    std::size_t done = 0;
    while (done < size) {
      if (check != nullptr) check();
      const ssize_t got = ::read(descriptor_, into + done, std::min(size - done, kPart));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) refuse(errno);
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

 private:
  void require_file(const struct stat& facts) const {
    if (S_ISREG(facts.st_mode)) return;
    throw students::Failure(path_ + " is not a file; name a SAT file.");
  }

  [[noreturn]] void refuse(int error) const {
    throw students::Failure(path_ + " cannot be read (" + std::strerror(error) +
                            "); name a SAT file that you may read.");
  }

  std::string path_;
  int descriptor_ = -1;
};

}  // namespace

std::uint64_t available_bytes() {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  if (const std::uint64_t kib = number_in("/proc/meminfo", "MemAvailable:"); kib != 0) {
    least = kib * 1024;
  }
  const std::uint64_t most = number_in("/sys/fs/cgroup/memory.max", "");
  const std::uint64_t used = number_in("/sys/fs/cgroup/memory.current", "");
  if (most != 0) least = std::min(least, most > used ? most - used : 0);
  struct rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    const std::uint64_t taken = number_in("/proc/self/status", "VmSize:") * 1024;
    least = std::min<std::uint64_t>(least, limit.rlim_cur > taken ? limit.rlim_cur - taken : 0);
  }
  return least;
}

void require_memory(std::uint64_t bytes, const std::string& what) {
  if (bytes < kLeastRequired) return;
  const std::uint64_t available = available_bytes();
  if (bytes <= available) return;
  throw BadFile({.what = what + " would take " + std::to_string(bytes >> 20) +
                         " MiB of memory, of which " + std::to_string(available >> 20) +
                         " MiB are free; free some, or split the file."});
}

Bytes load(const std::string& path, Check check) {
  const File file(path);
  const std::uint64_t size = file.size();
  const std::uint64_t available = available_bytes();
  if (size > available / (1 + kObjectsPerByte)) {
    throw students::Failure(path + " has " + std::to_string(size >> 20) + " MiB and needs about " +
                            std::to_string((size >> 20) * (1 + kObjectsPerByte)) +
                            " MiB of memory, of which " + std::to_string(available >> 20) +
                            " MiB are free; free some, or split the file.");
  }
  Bytes bytes(static_cast<std::size_t>(size));
  bytes.shrink(file.read(bytes.data(), static_cast<std::size_t>(size), check));
  return bytes;
}

}  // namespace sat
