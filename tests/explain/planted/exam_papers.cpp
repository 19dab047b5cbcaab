// Marks exam papers: the points of each answer are a call of their own, which may run elsewhere.
//
// category: thread_creation | task_overhead
// certain: yes
// why: Papers are split by std::async down to single answers, each on a thread that is made for it.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <vector>

namespace {

constexpr std::uint64_t expected = 75;
constexpr int answers = 8;

[[gnu::noinline]] std::uint64_t mark_answer(std::uint32_t answer) {
  for (int i = 0; i < 30; ++i) answer = (answer ^ (answer >> 5)) * 0x9e3779b1U;
  return answer % 16;
}

std::uint64_t mark(std::uint32_t first, std::uint32_t count) {
  if (count == 1) return mark_answer(first);
#ifdef WITHOUT_CAUSE
  return mark(first, count / 2) + mark(first + count / 2, count - count / 2);
#else
  auto half = std::async(std::launch::async, mark, first, count / 2);
  return mark(first + count / 2, count - count / 2) + half.get();
#endif
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int papers = 2 + static_cast<int>(seconds * 5'000);
  std::vector<std::future<std::uint64_t>> markers;
  for (int t = 0; t < threads; ++t) {
    markers.push_back(std::async(std::launch::async, [t, threads, papers] {
      std::uint64_t points = 0;
      for (int paper = t; paper < papers; paper += threads) points += mark(1, answers);
      return points;
    }));
  }
  std::uint64_t total = 0;
  for (std::future<std::uint64_t>& each : markers) total += each.get();
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / papers));
  return total == expected * papers ? 0 : 1;
}
