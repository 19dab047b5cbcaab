// Compact records, and their distribution to the blocks of their partitions by a thread of pass 2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "../data.hpp"
#include "block_store.hpp"
#include "layout.hpp"

namespace students {

// Eight bytes: the number in 30 bits, the file in 2, and in 32 the points, or in the basic file the
// bytes of the name and programme, which follow.
class Compact {
 public:
  Compact() = default;
  Compact(File file, std::uint32_t number, std::uint32_t value)
      : bits_(number | static_cast<std::uint64_t>(file) << 30 | std::uint64_t{value} << 32) {}

  File file() const { return static_cast<File>((bits_ >> 30) & 3); }
  std::uint32_t number() const { return static_cast<std::uint32_t>(bits_ & ((1U << 30) - 1)); }
  std::uint32_t value() const { return static_cast<std::uint32_t>(bits_ >> 32); }

 private:
  std::uint64_t bits_ = 0;
};
static_assert(sizeof(Compact) == 8 && kMostStudents < 1U << 30);

// A block begins with this; records follow, each whole.
struct BlockHeader {
  std::uint32_t previous;  // block of the same partition and thread; BlockStore::kNone: none
  std::uint32_t used;      // bytes of the block, with this header
};

// The blocks of one thread: for each partition the last block and the number of the block before.
class Scatter {
 public:
  Scatter(const Layout& layout, BlockStore& store)
      : block_bytes_(layout.block_bytes),
        store_(store),
        blocks_(std::make_unique_for_overwrite<char[]>(layout.partitions.size() * block_bytes_)),
        ends_(layout.partitions.size()) {
    for (std::size_t i = 0; i < ends_.size(); ++i) begin(i, BlockStore::kNone);
  }

  // Throws Failure.
  void add(std::size_t partition, Compact record, std::string_view person) {
    const std::size_t bytes = sizeof record + person.size();
    if (static_cast<std::size_t>(block(partition) + block_bytes_ - ends_[partition]) < bytes) {
      const std::uint32_t number = store_.add(last(partition));
      begin(partition, number);
    }
    char* const at = ends_[partition];
    std::memcpy(at, &record, sizeof record);
    if (!person.empty()) std::memcpy(at + sizeof record, person.data(), person.size());
    ends_[partition] = at + bytes;
  }

  // The last block of the partition, with its header.
  const char* last(std::size_t partition) {
    const auto used = static_cast<std::uint32_t>(ends_[partition] - block(partition));
    std::memcpy(block(partition) + offsetof(BlockHeader, used), &used, sizeof used);
    return block(partition);
  }

 private:
  char* block(std::size_t partition) { return blocks_.get() + partition * block_bytes_; }

  void begin(std::size_t partition, std::uint32_t previous) {
    const BlockHeader header{previous, sizeof(BlockHeader)};
    std::memcpy(block(partition), &header, sizeof header);
    ends_[partition] = block(partition) + sizeof header;
  }

  const std::size_t block_bytes_;
  BlockStore& store_;
  std::unique_ptr<char[]> blocks_;
  std::vector<char*> ends_;
};

}  // namespace students
