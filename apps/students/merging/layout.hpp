// The division of the student numbers and of the memory of a merge. Everything here is decided from
// counts, before a record is kept.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../plan.hpp"
#include "../record.hpp"

namespace students {

// Numbers of a range, which is not divided further. A range without double students takes at most
// about 5 MiB in a join.
inline constexpr std::uint64_t kRangeNumbers = 16'384;
inline constexpr std::uint64_t kRanges = kMostStudents / kRangeNumbers + 1;
inline constexpr std::uint64_t kSlotsInPage = 16;

inline constexpr std::uint64_t kLeastMemoryBytes = std::uint64_t{16} << 20;
inline constexpr std::uint64_t kDefaultMemoryBytes = std::uint64_t{1} << 30;

// The data of a student in a join.
struct Slot {
  std::uint32_t person;     // beginning among the texts of the partition
  std::uint32_t exercises;  // the sum
  std::uint16_t exam;
  std::uint16_t project;
  std::uint8_t person_bytes;
  std::uint8_t known;
};
static_assert(sizeof(Slot) == 16);

// For each range the bytes of its compact records.
using Weights = std::vector<std::uint64_t>;

struct Partition {
  std::uint32_t first = 0;   // the lowest number
  std::uint64_t span = 0;    // the count of numbers
  std::uint64_t weight = 0;  // bytes of compact records

  // Upper bounds of the memory of a join, if no student is twice in a file.
  std::uint64_t text_bytes() const;
  std::uint64_t pages() const;
  std::uint64_t index_entries() const { return (span + kSlotsInPage - 1) / kSlotsInPage; }
  std::uint64_t bytes() const;
};

struct Layout {
  std::vector<Partition> partitions;        // ascending; every number with a record is in one
  std::vector<std::uint32_t> partition_of;  // by range; kNoPartition if there is no record
  unsigned threads = 1;
  std::size_t block_bytes = 0;
  std::uint64_t blocks_in_memory = 0;
};

inline constexpr std::uint32_t kNoPartition = UINT32_MAX;

// The memory of a thread of pass 1; the number of threads that fit.
unsigned threads_to_count(unsigned threads, std::uint64_t memory_bytes);

// The layout for this memory, with fewer threads if they do not fit. Throws BadRequest if the
// memory is too small, with a sufficient size.
Layout layout(const Weights& weights, unsigned threads, std::uint64_t memory_bytes);

}  // namespace students
