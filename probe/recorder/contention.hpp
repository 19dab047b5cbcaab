// The cost on this machine of several threads that write one cache line. After the target has
// ended, the recorder times each operation with one thread alone and with all threads at once.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace threadmark {

// The picoseconds of a thread's time that an operation takes.
struct OperationCost {
  std::uint64_t alone_ps = 0, together_ps = 0;
};

// An atomic addition, a compare-exchange until it succeeds, a plain read and write of a word in a
// line of which each thread has another word, and an atomic addition in a line of 64 bytes of its
// own beside that of another thread, which some processors fetch together.
enum class Operation { add, exchange, write, beside };
inline constexpr std::size_t kOperations = 4;

struct Contention {
  std::uint64_t threads = 0;  // at once; 0: it could not be measured
  std::array<OperationCost, kOperations> costs;
};

// Measures with one thread on each of these processors, at most 16. Takes less than a tenth of a
// second. There is no result on a machine that is too busy to run the threads side by side.
Contention measure_contention(const std::vector<std::uint64_t>& cpus);

}  // namespace threadmark
