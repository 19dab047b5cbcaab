// Counts the pages of books on a shelf by halving the shelf again and again.
//
// category: task_overhead
// certain: yes
// build: tbb
// why: Halves are tasks of a task_group down to a single book, whose pages are one addition.

#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr std::uint64_t expected = 2034336;

#ifdef WITHOUT_CAUSE
constexpr std::size_t alone = 512;
#else
constexpr std::size_t alone = 1;
#endif

std::uint64_t count_pages(const std::uint32_t* begin, std::size_t books) {
  if (books <= alone) {
    std::uint64_t pages = 0;
    for (std::size_t i = 0; i < books; ++i) pages += begin[i];
    return pages;
  }
  std::uint64_t left = 0;
  tbb::task_group halves;
  halves.run([&] { left = count_pages(begin, books / 2); });
  const std::uint64_t right = count_pages(begin + books / 2, books - books / 2);
  halves.wait();
  return left + right;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 1'300);
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
  tbb::task_arena arena(threads);
  std::vector<std::uint32_t> shelf(8192);
  for (std::size_t i = 0; i < shelf.size(); ++i) shelf[i] = 100 + i % 300;
  std::uint64_t pages = 0;
  arena.execute([&] {
    for (int round = 0; round < rounds; ++round) pages += count_pages(shelf.data(), shelf.size());
  });
  std::printf("checksum %llu\n", static_cast<unsigned long long>(pages / rounds));
  return pages == expected * rounds ? 0 : 1;
}
