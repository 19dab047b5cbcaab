// Compares each document of a collection with all before it.
//
// category: imbalance
// certain: yes
// why: Equal ranges of documents are unequal work, as late documents have more before them.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 81387;
constexpr int documents = 256;
constexpr int words = 64;

std::vector<std::uint32_t> collection(documents* words);

std::uint64_t compare(int one, int other) {
  std::uint64_t same = 0;
  for (int word = 0; word < words; ++word) {
    same += collection[one * words + word] % 17 == collection[other * words + word] % 17 ? 1 : 0;
  }
  return same;
}

[[gnu::noinline]] void compare_range(int begin, int end, int stride, int rounds,
                                     std::uint64_t& result) {
  std::uint64_t sum = 0;
  for (int one = begin; one < end; one += stride) {
    for (int round = 0; round < rounds; ++round) {
      for (int other = 0; other < one * one / documents; ++other) sum += compare(one, other);
    }
  }
  result = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 1 + static_cast<int>(seconds * 1'600);
  std::uint32_t state = 1;
  for (std::uint32_t& each : collection) each = state = state * 1664525 + 1013904223;
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
#ifdef WITHOUT_CAUSE
    const int begin = t, end = documents, stride = threads;
#else
    const int begin = documents * t / threads, end = documents * (t + 1) / threads, stride = 1;
#endif
    workers.emplace_back(compare_range, begin, end, stride, rounds, std::ref(results[t]));
  }
  for (std::thread& each : workers) each.join();
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
