// What nqueens needs of either library: the board.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>

constexpr std::size_t max_queens = 21;

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
