// Blocks of bytes of one size: a given number in memory, all others in an unnamed temporary file.
// Protocol: ../merge.md.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

namespace students {

class BlockStore {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // The file is made in `folder` at its first use. Throws std::bad_alloc.
  BlockStore(std::size_t block_bytes, std::uint64_t in_memory, std::string folder);
  BlockStore(const BlockStore&) = delete;
  BlockStore& operator=(const BlockStore&) = delete;
  ~BlockStore();

  // Keeps a copy of the block and returns its number. Any thread may call it. Throws Failure.
  std::uint32_t add(const char* block);

  // The block of this number, in memory or read into `buffer`. Throws Failure.
  const char* read(std::uint32_t number, char* buffer) const;

  std::uint64_t spilled_bytes() const;

 private:
  void write(std::uint64_t number, const char* block);
  int file();

  const std::size_t block_bytes_;
  const std::uint64_t in_memory_;
  const std::string folder_;
  char* memory_ = nullptr;
  std::atomic<std::uint64_t> next_{0};
  std::mutex mutex_;  // of opening the file
  int descriptor_ = -1;
};

// A file without a name in this folder, or -1 and errno. For file systems without O_TMPFILE, the
// function makes a named file and removes the name at once.
int open_unnamed(const std::string& folder);
int open_and_unlink(const std::string& folder);

}  // namespace students
