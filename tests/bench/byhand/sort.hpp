// The part of sort that both libraries share: the data and the serial leaves.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "byhand.hpp"

using Element = std::int64_t;

struct Range {
  Element* begin;
  Element* end;
  std::int64_t size() const { return end - begin; }
};

inline void merge_serial(Range left, Range right, Element* out) {
  while (left.begin != left.end && right.begin != right.end) {
    const bool take_right = *right.begin < *left.begin;
    *out++ = take_right ? *right.begin : *left.begin;
    right.begin += take_right;
    left.begin += !take_right;
  }
  std::copy(right.begin, right.end, std::copy(left.begin, left.end, out));
}

struct Problem {
  std::vector<Element> input, data, scratch;
  explicit Problem(long n)
      : input(static_cast<std::size_t>(n)), data(input.size()), scratch(input.size()) {
    std::iota(input.begin(), input.end(), Element{0});
    std::uint64_t state = 1;
    for (auto& element : input) {
      state = state * 1'103'515'245 + 12'345;
      std::swap(element, input[state % input.size()]);
    }
  }
  Range all() { return {data.data(), data.data() + data.size()}; }
  bool sorted() const {  // the input is a permutation of 0 .. n - 1
    Element expected = 0;
    return std::all_of(data.begin(), data.end(), [&](Element e) { return e == expected++; });
  }
};
