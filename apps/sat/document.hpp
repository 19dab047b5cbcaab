// sat::read: a file in memory, its header, and the table of its records. sat::map, and not this
// step, reads the records themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "frames.hpp"
#include "header.hpp"
#include "large_memory.hpp"
#include "problem.hpp"
#include "team.hpp"

namespace sat {

// Bytes that do not move.
class Bytes {
 public:
  Bytes() = default;
  explicit Bytes(std::size_t size) : data_(allocate_large<char>(size)), size_(size) {}
  explicit Bytes(std::string_view text);
  char* data() { return data_.get(); }
  void shrink(std::size_t size) { size_ = size; }
  std::string_view view() const { return {data_.get(), size_}; }

 private:
  LargeMemory<char> data_;
  std::size_t size_ = 0;
};

// Reads a file whole. Throws students::Failure, also if four times its size is more than the free
// memory; then nothing was allocated. That is an estimate: read() and map() compare the tables and
// the objects with the free memory again, before they allocate them.
Bytes load(const std::string& path, Check check = nullptr);

struct Document {
  Bytes bytes;
  Header header;
  std::vector<Frame> frames;
  std::uint64_t subtypes = 0;     // definitions in all records
  std::string_view mark;          // that ends the file; empty: there is none
  bool history = false;           // the file had one, which was skipped
  bool numbered = false;          // records begin with their numbers
  bool dollars = true;            // references are written as $7; before version 400 as 7 too
  std::size_t after_mark = 0;     // characters other than blanks behind the end mark
  std::vector<Problem> problems;  // with partial: faults that would have been refused

  std::string_view record(std::size_t i) const {
    return bytes.view().substr(frames[i].begin, frames[i].size);
  }
  // The class chain from leaf to root, as `plane-surface`.
  std::string_view identifier(std::size_t i) const;
  // The number in the record, if the records have numbers.
  std::int64_t written_number(std::size_t i) const;
};

struct ReadOptions {
  bool partial = false;  // go on after a problem, and keep the problem
};

// Throws BadFile.
Document read(Bytes bytes, Team& team, const ReadOptions& options = {});

}  // namespace sat
