// All placements of n queens that do not attack each other: one task per partial placement that is
// valid, no cut-off. Each task gets its own copy of the array of rows, as in the suite, but of
// fixed size: no heap.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "bench.hpp"
#include "small_vector.hpp"

namespace {

constexpr int kMaxQueens = 21;

// OEIS A000170; index n.
// clang-format off
constexpr std::uint64_t kSolutions[kMaxQueens + 1] = {
    1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2'680, 14'200, 73'712, 365'596, 2'279'184, 14'772'512,
    95'815'104, 666'090'624, 4'968'057'848, 39'029'188'884, 314'666'222'712};
// clang-format on

// The queen of column i < columns stands in rows[i].
struct Board {
  std::int8_t size = 0;
  std::int8_t columns = 0;
  std::array<std::int8_t, kMaxQueens> rows{};

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

std::uint64_t solutions_futures(const Board& board) {
  if (board.columns == board.size) return 1;
  bench::small_vector<bench::handle<decltype(solutions_futures)*, Board>, kMaxQueens> children(
      kMaxQueens);
  for (int row = 0; row < board.size; ++row) {
    if (!board.admits(row)) continue;
    children.emplace_from([&] { return bench::async(solutions_futures, board.with(row)); });
  }
  std::uint64_t sum = 0;
  for (auto& child : children) sum += child.get();
  return sum;
}

std::uint64_t solutions_fork_join(const Board& board) {
  if (board.columns == board.size) return 1;
  std::array<std::uint64_t, kMaxQueens>
      found;  // set by the branches, of which there are `branches`
  std::size_t branches = 0;
  bench::scope scope;
  for (int row = 0; row < board.size; ++row) {
    if (!board.admits(row)) continue;
    scope.spawn([&board, row, &result = found[branches++]] {
      result = solutions_fork_join(board.with(row));
    });
  }
  scope.wait();
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < branches; ++i) sum += found[i];
  return sum;
}

// How many partial placements are valid, by sets of attacked rows and diagonals: another algorithm
// on other data. Bit r of each set is row r of the next column.
std::uint64_t placements(std::uint32_t all, std::uint32_t rows, std::uint32_t up,
                         std::uint32_t down) {
  std::uint64_t sum = 0;
  for (std::uint32_t open = all & ~(rows | up | down); open != 0; open &= open - 1) {
    const std::uint32_t row = open & (~open + 1);
    sum += 1 + placements(all, rows | row, (up | row) << 1, (down | row) >> 1);
  }
  return sum;
}

class NQueens final : public bench::Instance {
 public:
  explicit NQueens(const bench::Arguments& arguments)
      : n_(static_cast<std::int8_t>(arguments["n"])) {}

  void prepare() override { tasks_ = placements((std::uint32_t{1} << n_) - 1, 0, 0, 0); }
  void clear() override { answer_ = ~std::uint64_t{0}; }
  void run(bench::Form form) override {
    const Board empty{.size = n_};
    answer_ = form == bench::Form::futures ? solutions_futures(empty) : solutions_fork_join(empty);
  }
  bench::Check check() override {
    const std::uint64_t expected = kSolutions[static_cast<std::size_t>(n_)];
    return {.ok = answer_ == expected,
            .answer = std::to_string(answer_),
            .reason = "expected " + std::to_string(expected),
            .tasks = tasks_};
  }

 private:
  std::int8_t n_;
  std::uint64_t tasks_ = 0;
  std::uint64_t answer_ = 0;
};

}  // namespace

BENCH_PROGRAM(
        .name = "nqueens",
        .summary = "all placements of n queens, a task per valid partial placement",
        .structure = "recursive unbalanced", .granularity = "moderate", .synchronisation = "none",
        .origin = "Cilk",
        .parameters = {{.name = "n",
                        .meaning = "queens, columns and rows",
                        .min = 1,
                        .max = kMaxQueens,
                        .smoke = 7,
                        .quick = 11,
                        .full = 13}},
        .fork_join = true,
        .make = [](const bench::Arguments& arguments) -> std::unique_ptr<bench::Instance> {
          return std::make_unique<NQueens>(arguments);
        })
