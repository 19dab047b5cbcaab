// Sorts the words of documents; each thread has documents of its own.
//
// category: none
// certain: yes
// why: Each thread allocates and frees small strings of its own, for which malloc takes no lock.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 6380642;

[[gnu::noinline]] std::uint64_t sort_words(std::uint32_t document) {
  std::vector<std::string> words;
  std::uint32_t state = document % 10 + 1;
  for (int i = 0; i < 200; ++i) {
    state = state * 1664525 + 1013904223;
    words.push_back("the word with the number " + std::to_string(state >> 8));
  }
  std::sort(words.begin(), words.end());
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < words.size(); ++i) sum += i * words[i].size();
  return sum;
}

[[gnu::noinline]] void sort_documents(int first, int step, int rounds, std::uint64_t& result) {
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) {
    for (std::uint32_t document = 0; document < 10; ++document) sum += sort_words(document);
  }
  result = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 12'000);
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back(sort_documents, t, threads, rounds, std::ref(results[t]));
  }
  for (std::thread& each : workers) each.join();
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
