// A shuffled order of 0..count - 1 that needs no memory: a Feistel network over the next power of
// two, walked along its cycle until the value is in range (Black and Rogaway 2002). It is one to
// one by construction.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "random.hpp"

namespace students {

class Permutation {
 public:
  // count is 1 to 2^32.
  Permutation(std::uint64_t count, std::uint64_t seed) : count_(count) {
    const unsigned bits = std::max(kLeastBits, static_cast<unsigned>(std::bit_width(count - 1)));
    low_bits_ = bits / 2;
    high_bits_ = bits - low_bits_;
    const Stream stream(seed, kPurpose);
    for (std::size_t i = 0; i < kRounds; ++i) keys_[i] = stream.draw(i);
  }

  // The number at this position, which is below count. On average the network is used less than
  // twice, because count is more than half of its domain, except for the smallest domain.
  std::uint64_t operator()(std::uint64_t position) const {
    do {
      position = once(position);
    } while (position >= count_);
    return position;
  }

 private:
  static constexpr std::size_t kRounds = 6;  // even, so that the widths of the halves come back
  static constexpr std::uint64_t kPurpose = 1;
  // With halves of one or two bits some orders would be more frequent than others.
  static constexpr unsigned kLeastBits = 8;

  std::uint64_t once(std::uint64_t value) const {
    std::uint64_t low = value & mask(low_bits_);
    std::uint64_t high = value >> low_bits_;
    for (std::size_t i = 0; i < kRounds; i += 2) {
      high ^= scrambled(low, keys_[i]) & mask(high_bits_);
      low ^= scrambled(high, keys_[i + 1]) & mask(low_bits_);
    }
    return high << low_bits_ | low;
  }

  static std::uint64_t scrambled(std::uint64_t half, std::uint64_t key) {
    return ((half ^ key) * kGolden) >> 40;  // the upper bits depend on all of half and of key
  }

  static constexpr std::uint64_t mask(unsigned bits) { return (std::uint64_t{1} << bits) - 1; }

  std::uint64_t count_;
  unsigned low_bits_ = 0;
  unsigned high_bits_ = 0;
  std::array<std::uint64_t, kRounds> keys_{};
};

}  // namespace students
