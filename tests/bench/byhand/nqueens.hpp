// The part of nqueens that both libraries share: the board and the right answers.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>

constexpr std::size_t max_queens = 16;

// By the board's size: OEIS A000170.
inline constexpr std::array<std::uint64_t, max_queens + 1> known_solutions{
    1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512};

struct Board {
  std::int8_t size = 0;
  std::int8_t columns = 0;
  std::array<std::int8_t, max_queens> rows{};

  bool admits(int row) const {
    for (int i = 0; i < columns; ++i) {
      const int difference = rows[static_cast<std::size_t>(i)] - row;
      if (difference == 0 || std::abs(difference) == columns - i) return false;
    }
    return true;
  }
  Board with(int row) const {
    Board next = *this;
    next.rows[static_cast<std::size_t>(next.columns++)] = static_cast<std::int8_t>(row);
    return next;
  }
};
