// Framing: where each record of a file begins and ends. No schema is needed, but strings must be
// skipped by their lengths, since a `#` in one ends nothing. frames.md says how threads share it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "problem.hpp"
#include "team.hpp"

namespace sat {

// A record without its `#`. 16 bytes, as a file may have many millions.
struct Frame {
  std::uint64_t begin;
  std::uint32_t size;
  // While parts are framed: subtypes that it defines. Then: the number of its first one.
  std::uint32_t subtypes;
};
static_assert(sizeof(Frame) == 16);

enum class Ending : unsigned char {
  kEndMark,  // End-of-ACIS-data, End-of-ASM-data
  kHistory,  // Begin-of-...-History-Data
  kNoMark,   // the last record is whole, and nothing follows
  kBroken,   // the text after the last frame is no whole record
};

struct Framing {
  std::vector<Frame> frames;
  std::uint64_t subtypes = 0;  // definitions in all frames
  std::uint64_t end = 0;       // of the last record, or of the mark
  Ending ending = Ending::kNoMark;
  std::string_view mark;
  // Of kBroken: the line is that of the record's beginning.
  std::uint64_t broken_at = 0;
  std::string broken;
};

// Frames bytes[begin..]. `counted`: strings are written as @7, as from version 700 on.
Framing frame(std::string_view bytes, std::size_t begin, bool counted, Team& team);

// The mark in bytes[begin..] that ends the file, after a history; another ending if it has none.
Framing find_end_mark(std::string_view bytes, std::size_t begin, bool counted, Check check);

// The line of a position, from 1.
std::uint64_t line_of(std::string_view bytes, std::size_t position);

// The same for many positions. Each line is counted from the one before, so that positions in
// ascending order cost one pass over the file.
class Lines {
 public:
  explicit Lines(std::string_view bytes) : bytes_(bytes) {}
  std::uint64_t of(std::size_t position);

 private:
  std::string_view bytes_;
  std::size_t position_ = 0;
  std::uint64_t line_ = 1;
};

}  // namespace sat
