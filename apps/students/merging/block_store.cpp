// The definitions.
#include "block_store.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "../complaint.hpp"

namespace students {
namespace {

Failure spill_failure(const std::string& folder, int error) {
  return write_failure("A temporary file in " + folder, error,
                       "more --memory or another folder for the result (-o)");
}

}  // namespace

BlockStore::BlockStore(std::size_t block_bytes, std::uint64_t in_memory, std::string folder)
    : block_bytes_(block_bytes), in_memory_(in_memory), folder_(std::move(folder)) {
  if (in_memory_ == 0) return;
  // Pages are taken when a block is copied to them, and not before.
  void* const memory = mmap(nullptr, in_memory_ * block_bytes_, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  memory_ = static_cast<char*>(memory);
}

BlockStore::~BlockStore() {
  if (memory_ != nullptr) munmap(memory_, in_memory_ * block_bytes_);
  if (descriptor_ >= 0) close(descriptor_);
}

std::uint32_t BlockStore::add(const char* block) {
  const std::uint64_t number = next_++;
  if (number >= kNone) {
    throw BadRequest("There are too many blocks; choose more --memory, which makes them larger.");
  }
  if (number < in_memory_) {
    std::memcpy(memory_ + number * block_bytes_, block, block_bytes_);
  } else {
    write(number - in_memory_, block);
  }
  return static_cast<std::uint32_t>(number);
}

void BlockStore::write(std::uint64_t place, const char* block) {
  const int descriptor = file();
  for (std::size_t done = 0; done < block_bytes_;) {
    const ssize_t written = pwrite(descriptor, block + done, block_bytes_ - done,
                                   static_cast<off_t>(place * block_bytes_ + done));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw spill_failure(folder_, errno);
    done += static_cast<std::size_t>(written);
  }
}

const char* BlockStore::read(std::uint32_t number, char* buffer) const {
  if (number < in_memory_) return memory_ + number * block_bytes_;
  const std::uint64_t place = number - in_memory_;
  for (std::size_t done = 0; done < block_bytes_;) {
    const ssize_t got = pread(descriptor_, buffer + done, block_bytes_ - done,
                              static_cast<off_t>(place * block_bytes_ + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      throw Failure("A temporary file in " + folder_ + " cannot be read (" +
                    std::strerror(got < 0 ? errno : EIO) + "); check the disk.");
    }
    done += static_cast<std::size_t>(got);
  }
  return buffer;
}

std::uint64_t BlockStore::spilled_bytes() const {
  const std::uint64_t blocks = next_;
  return (blocks - std::min(blocks, in_memory_)) * block_bytes_;
}

int BlockStore::file() {
  const std::lock_guard lock(mutex_);
  if (descriptor_ < 0) descriptor_ = open_unnamed(folder_);
  if (descriptor_ < 0) throw spill_failure(folder_, errno);
  return descriptor_;
}

int open_unnamed(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  const bool not_known = errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL;
  return descriptor < 0 && not_known ? open_and_unlink(folder) : descriptor;
}

int open_and_unlink(const std::string& folder) {
  std::string path = folder + "/merge.partial-XXXXXX";
  const int descriptor = mkostemp(path.data(), O_CLOEXEC);
  if (descriptor >= 0) unlink(path.c_str());
  return descriptor;
}

}  // namespace students
