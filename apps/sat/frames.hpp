// Framing: the beginning and the end of each record of a file. It needs no schema, but must skip
// strings by their lengths, because a `#` in a string ends no record. frames.md explains how
// threads share the work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "problem.hpp"
#include "team.hpp"

namespace sat {

// A record without its `#`. It has 16 bytes, because a file may have many millions.
struct Frame {
  std::uint64_t begin;
  std::uint32_t size;
  // During the framing of parts: the number of subtypes that it defines. Afterwards: the number of
  // its first subtype.
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

// The same for many positions. Counting goes on from the last position, so positions in ascending
// order cost one pass over the file.
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
