// Writes chunks to the file of the record. After the first failure the writer writes nothing more,
// and takes the partial last chunk back, so that the file stays readable.
#pragma once

#include <string>

#include "format.hpp"
#include "system.hpp"

namespace threadmark {

class Writer {
 public:
  // Returns 0, or the error of open. The old contents of the file stay until the first chunk.
  int open(const std::string& path);
  // Called when nothing was recorded: removes a file that did not exist before.
  void abandon();
  void chunk(Chunk kind, const std::string& bytes);
  int error() const { return error_; }

 private:
  Descriptor file_;
  std::string made_;  // the path, where the file is new
  std::uint64_t written_ = 0;
  int error_ = 0;
};

// Collects the entries of a table, and begins a new chunk when one would become too long.
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
