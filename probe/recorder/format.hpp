// The record's bytes: chunks, and numbers in as few bytes as they need.
//
// A file is a sequence of chunks: a ChunkHead and `length` bytes. Chunks depend on one another only
// by the ids in them: values that are coded as differences begin anew in each chunk. Of two entries
// of a table with the same id, the later one holds. Numbers are in the byte order of the machine,
// which the magic of the first chunk shows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace threadmark {

inline constexpr std::uint32_t kChunkMagic = 0x314b4d54;  // "TMK1"
inline constexpr std::uint64_t kFormatVersion = 5;
inline constexpr std::uint32_t kMostChunkBytes = 1 << 20;

enum class Chunk : std::uint32_t {
  start = 1,  // always the first
  status,     // may change while the target runs: its end, losses, limits
  modules,
  stacks,
  threads,
  objects,
  pairs,
  holds,
  ticks,
  samples,
  end,  // nothing is missing before it
  images,
  symbols,
  code,
  wakes,  // an empty one means that wakes would have been seen
  contention,
};

struct ChunkHead {
  std::uint32_t magic, type, length, checksum;  // of type, length and the bytes
};
static_assert(sizeof(ChunkHead) == 16);

// The activity of a wait in the record: an Activity of shared.hpp, or a value for a wait that only
// the recorder sees.
inline constexpr std::uint32_t kActivityBlocked = 32;

// Ids of objects: those of the agent are index + 1; those that the recorder found itself follow.
inline constexpr std::uint32_t kFirstOutsideObject = 1U << 16;

// Objects of the record that have no kind in shared.hpp are words that threads wait for in futex.
enum class Region : std::uint32_t { unknown, heap, stack, file, anonymous };

// The bytes that the record keeps of the name of a kernel function.
inline constexpr std::size_t kMostName = 64;

// The registers of a sample, in the order of the record.
inline constexpr std::array<std::string_view, 17> kRegisters = {
    "pc", "sp", "ax",  "bx",  "cx",  "dx",  "si",  "di", "bp",
    "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"};

inline std::uint32_t checksum(std::uint32_t sum, const void* bytes, std::size_t length) {
  static constexpr std::array<std::uint32_t, 256> table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t rest = i;
      for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1) != 0 ? 0xedb88320U : 0U);
      made[i] = rest;
    }
    return made;
  }();
  const auto* byte = static_cast<const unsigned char*>(bytes);
  sum = ~sum;
  for (std::size_t i = 0; i < length; ++i) sum = (sum >> 8) ^ table[(sum ^ byte[i]) & 0xff];
  return ~sum;
}

inline std::uint32_t checksum_of(const ChunkHead& head, const void* bytes) {
  return checksum(checksum(0, &head.type, 8), bytes, head.length);
}

// Appends numbers and texts to bytes.
class Encoder {
 public:
  void number(std::uint64_t value) {
    while (value >= 0x80) {
      bytes_.push_back(static_cast<char>(value | 0x80));
      value >>= 7;
    }
    bytes_.push_back(static_cast<char>(value));
  }
  void difference(std::int64_t value) {
    number((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  void from(std::uint64_t value, std::uint64_t before) {
    difference(static_cast<std::int64_t>(value - before));
  }
  void text(std::string_view value) {
    number(value.size());
    bytes_ += value;
  }
  std::string& bytes() { return bytes_; }
  std::size_t size() const { return bytes_.size(); }

 private:
  std::string bytes_;
};

// Reads them back. Once a read fails, all later reads give 0 and good() is false.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : rest_(bytes) {}

  bool good() const { return good_; }
  bool more() const { return good_ && !rest_.empty(); }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) break;
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    good_ = false;
    rest_ = {};
    return 0;
  }
  std::uint32_t small() { return static_cast<std::uint32_t>(number()); }
  std::int64_t difference() {
    const std::uint64_t value = number();
    return static_cast<std::int64_t>((value >> 1) ^ (0 - (value & 1)));
  }
  std::uint64_t from(std::uint64_t before) {
    return before + static_cast<std::uint64_t>(difference());
  }
  std::string_view text() {
    const std::uint64_t length = number();
    if (length > rest_.size()) {
      good_ = false;
      rest_ = {};
    }
    if (!good_) return {};
    const std::string_view value = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return value;
  }
  // The number of entries of at least `least` bytes that can follow: a bound for the memory to
  // reserve.
  std::uint64_t count(std::size_t least = 1) {
    const std::uint64_t value = number();
    if (value > rest_.size() / least) {
      good_ = false;
      rest_ = {};
      return 0;
    }
    return value;
  }

 private:
  std::string_view rest_;
  bool good_ = true;
};

}  // namespace threadmark
