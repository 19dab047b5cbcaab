// The join of the four files in one process, in a bounded memory. ../merge.md explains it.
#pragma once

#include <cstdint>
#include <string>

#include "../record.hpp"
#include "layout.hpp"

namespace students {

struct MergePlan {
  std::string folder = ".";            // of the four files
  std::string target = "summary.txt";  // the result
  std::uint64_t memory_bytes = kDefaultMemoryBytes;
  unsigned threads = 1;
  std::uint32_t maximum = kDefaultMaximum;
  bool progress = false;
};

struct MergeFacts {
  std::uint64_t complete = 0;    // students in the result
  std::uint64_t incomplete = 0;  // students in the list of those that some file lacks
  std::uint64_t above = 0;       // lines with points above the maximum
  std::uint64_t input_bytes = 0;
  std::uint64_t partitions = 0;
  std::uint64_t spilled_bytes = 0;  // the bytes in the temporary file
  unsigned threads = 1;             // of passes 2 and 3
};

// Writes the result in place of an earlier one, and the list; without incomplete students there is
// no list, and an earlier one is removed. Throws Failure, BadRequest or Interrupted; see publish()
// for the state of earlier files then.
MergeFacts merge(const MergePlan& plan);

}  // namespace students
