// Random numbers without a state: draw n of a stream is a function of the key and n, so any thread
// can produce any part of the data. The sequence is that of SplitMix64 (Steele et al. 2014).
#pragma once

#include <cstdint>

namespace students {

__extension__ using Product = unsigned __int128;

inline constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;

constexpr std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

class Stream {
 public:
  // Streams of different purposes with the same seed have nothing in common.
  constexpr Stream(std::uint64_t seed, std::uint64_t purpose)
      : key_(mix(mix(seed + kGolden) + (purpose + 1) * kGolden)) {}

  constexpr std::uint64_t draw(std::uint64_t n) const { return mix(key_ + (n + 1) * kGolden); }

 private:
  std::uint64_t key_;
};

// Whole numbers from the bits of one draw, used as a fraction of 2^64: each number is the next
// digit of the fraction. The error of each probability is the product of all bounds / 2^64, so
// sixteen points 0..5 have an error below 2^-22.
class Digits {
 public:
  constexpr explicit Digits(std::uint64_t draw) : fraction_(draw) {}

  // Uniform in 0..bound - 1.
  constexpr std::uint32_t below(std::uint64_t bound) {
    const Product product = static_cast<Product>(fraction_) * bound;
    fraction_ = static_cast<std::uint64_t>(product);
    return static_cast<std::uint32_t>(product >> 64);
  }

 private:
  std::uint64_t fraction_;
};

}  // namespace students
