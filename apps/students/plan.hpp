// The request: the data, which the first four fields determine wholly, and the way to write them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace students {

inline constexpr std::uint64_t kMostStudents = 1'000'000'000;
inline constexpr std::uint64_t kMostExercises = 10'000;
inline constexpr std::uint64_t kMostInBlock = 1'000'000;
inline constexpr std::uint64_t kMostThreads = 256;
inline constexpr std::uint64_t kLeastInBlock = 5;  // the original raises smaller buffers to it
// The limit of the buffers of a run. Larger requests are refused, so that -b takes no memory that
// the user does not know of.
inline constexpr std::uint64_t kMostMemoryBytes = std::uint64_t{1} << 30;

struct Plan {
  std::uint64_t students = 0;
  std::uint64_t exercises = 6;
  std::uint64_t block = 0;  // students in a block; never more than there are students
  std::uint64_t seed = 0;
  unsigned threads = 1;
  std::string folder = ".";
  bool fsync = false;
  bool verbose = false;

  std::uint64_t blocks() const { return (students + block - 1) / block; }
  // The number of students in the block of this number. The last block may have fewer.
  std::uint64_t size_of(std::uint64_t number) const {
    return std::min(block, students - number * block);
  }
};

}  // namespace students
