// nqueens, written against OpenMP.
#include "nqueens.hpp"
#include "byhand.hpp"

static std::uint64_t solutions(const Board& board) {
  if (board.columns == board.size) return 1;
  std::array<std::uint64_t, max_queens> found;
  std::size_t branches = 0;
  for (int row = 0; row < board.size; ++row) {
    if (!board.admits(row)) continue;
    std::uint64_t* const result = &found[branches++];
#pragma omp task firstprivate(row, result) shared(board)
    *result = solutions(board.with(row));
  }
#pragma omp taskwait
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < branches; ++i) sum += found[i];
  return sum;
}

int main(int argc, char** argv) {
  const byhand::Options options(argc, argv);
  const Board empty{.size = static_cast<std::int8_t>(options.parameters[0])};
  std::uint64_t answer = 0;
  const auto run = [&] {
#pragma omp parallel num_threads(options.threads)
#pragma omp single
    answer = solutions(empty);
  };
  return byhand::measure(
      options, [&] { answer = 0; }, run,
      [&] {
        return answer == known_solutions.at(static_cast<std::size_t>(options.parameters[0]));
      });
}
