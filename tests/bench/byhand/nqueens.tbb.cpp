// nqueens, written against TBB.
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include "byhand.hpp"
#include "nqueens.hpp"

static std::uint64_t solutions(const Board& board) {
  if (board.columns == board.size) return 1;
  std::array<std::uint64_t, max_queens> found;
  std::size_t branches = 0;
  tbb::task_group group;
  for (int row = 0; row < board.size; ++row) {
    if (!board.admits(row)) continue;
    group.run([&board, row, &result = found[branches++]] { result = solutions(board.with(row)); });
  }
  group.wait();
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < branches; ++i) sum += found[i];
  return sum;
}

int main(int argc, char** argv) {
  const byhand::Options options(argc, argv);
  tbb::global_control control(tbb::global_control::max_allowed_parallelism,
                              static_cast<std::size_t>(options.threads));
  tbb::task_arena arena(options.threads);
  const Board empty{.size = static_cast<std::int8_t>(options.parameters[0])};
  std::uint64_t answer = 0;
  return byhand::measure(
      options, [&] { answer = 0; }, [&] { arena.execute([&] { answer = solutions(empty); }); },
      [&] {
        return answer == known_solutions.at(static_cast<std::size_t>(options.parameters[0]));
      });
}
