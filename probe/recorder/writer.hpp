// Writes chunks to the file of the record. After the first failure nothing more is written, and
// what was written of the last chunk is taken back, so that the file stays readable.
#pragma once

#include <string>

#include "format.hpp"
#include "system.hpp"

namespace threadmark {

class Writer {
 public:
  // 0, or the error of open. What was in the file stays until the first chunk.
  int open(const std::string& path);
  // Nothing was recorded: a file that was not there before is removed.
  void abandon();
  void chunk(Chunk kind, const std::string& bytes);
  int error() const { return error_; }

 private:
  Descriptor file_;
  std::string made_;  // the path, where the file is new
  std::uint64_t written_ = 0;
  int error_ = 0;
};

// Collects the entries of a table, and begins a new chunk where one would become too long.
class TableOut {
 public:
  TableOut(Writer& writer, Chunk kind) : writer_(writer), kind_(kind) {}
  TableOut(const TableOut&) = delete;
  TableOut& operator=(const TableOut&) = delete;
  ~TableOut() { flush(); }

  Encoder& entry() {
    if (encoder_.size() > kMostChunkBytes / 4) flush();
    return encoder_;
  }
  void flush() {
    if (encoder_.size() == 0) return;
    writer_.chunk(kind_, encoder_.bytes());
    encoder_.bytes().clear();
  }
  bool long_enough() const { return encoder_.size() > kMostChunkBytes / 8; }

 private:
  Writer& writer_;
  Chunk kind_;
  Encoder encoder_;
};

}  // namespace threadmark
