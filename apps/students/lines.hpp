// The published method of making and saving lines: a string for each line, a stringstream for each
// student, and files that are opened, appended to, flushed after every line and closed for each
// block.
#pragma once

#include <array>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "data.hpp"
#include "interruption.hpp"
#include "plan.hpp"
#include "writer.hpp"

namespace students {

class Buffers {
 public:
  explicit Buffers(const Plan& plan) : plan_(plan) { clear(); }

  // Adds the lines of the student at this position.
  void add(const Data& data, std::uint64_t position);
  bool full() const { return count_ >= plan_.block; }
  std::uint64_t count() const { return count_; }
  // Brings the lines of this file into the order of the block and returns all strings. Empty
  // strings are no lines.
  const std::vector<std::string>& shuffled(const Data& data, File file, std::uint64_t block);
  void clear();

 private:
  const Plan& plan_;
  std::array<std::vector<std::string>, kFiles> lines_;
  std::uint64_t count_ = 0;
};

// Saves the lines of one file of a block. Different threads may save different files at a time.
// Throws Failure or Interrupted.
void save_buffer(const Job& job, Buffers& buffers, File file, std::uint64_t block);

// The same without its faults: the files stay open, and no line is flushed.
class OpenFiles {
 public:
  // Opens all files and writes their first lines, or throws Failure.
  explicit OpenFiles(const Job& job);
  // Different threads may save different files at a time. Throws Failure.
  void save(Buffers& buffers, File file, std::uint64_t block);
  // Writes the rest of the streams' buffers, or throws Failure.
  void close();

 private:
  const Job& job_;
  std::array<std::ofstream, kFiles> files_;
};

// An upper bound for one pair of buffers, with strings and the spare capacity of vectors.
std::uint64_t memory_of_buffers(const Plan& plan);

// Fills the buffers with block after block and calls flush(number of the block) for each.
template <typename Flush>
void for_each_block(const Job& job, Buffers& buffers, Flush flush) {
  std::uint64_t block = 0;
  const auto save = [&] {
    check_signals();
    flush(block++);
    job.progress.advance(buffers.count());
    buffers.clear();
  };
  for (std::uint64_t position = 0; position < job.plan.students; ++position) {
    buffers.add(job.data, position);
    if (buffers.full()) save();
  }
  if (buffers.count() > 0) save();
}

}  // namespace students
