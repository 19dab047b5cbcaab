// Reads and sorts the words of a text, and then compares them side by side.
//
// category: serial_dependency | imbalance
// certain: any
// why: One thread reads and sorts, which takes most of the time, before the others are made.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 585671;
constexpr std::size_t words_of_text = 150'000;
constexpr std::size_t near = 40;

[[gnu::noinline]] std::vector<std::string> read_words(int times) {
  std::vector<std::string> words;
  for (int time = 0; time < times; ++time) {
    words.clear();
    std::uint32_t state = 3;
    for (std::size_t i = 0; i < words_of_text; ++i) {
      state = state * 1664525 + 1013904223;
      words.push_back("w" + std::to_string(state >> 12));
    }
    std::sort(words.begin(), words.end());
  }
  return words;
}

[[gnu::noinline]] void compare(const std::vector<std::string>& words, std::size_t first,
                               std::size_t last, std::uint64_t& alike) {
  std::uint64_t count = 0;
  for (std::size_t i = first; i < last; ++i) {
    const std::size_t end = std::min(i + near, words.size());
    for (std::size_t j = i + 1; j < end; ++j) count += words[i].back() == words[j].back() ? 1 : 0;
  }
  alike = count;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const std::vector<std::string> words = read_words(1 + static_cast<int>(seconds * 24));
  std::vector<std::uint64_t> alike(threads);
  std::vector<std::thread> readers;
  for (int t = 0; t < threads; ++t) {
    const std::size_t first = words.size() * t / threads;
    const std::size_t last = words.size() * (t + 1) / threads;
    readers.emplace_back(compare, std::cref(words), first, last, std::ref(alike[t]));
  }
  for (std::thread& each : readers) each.join();
  std::uint64_t total = 0;
  for (const std::uint64_t each : alike) total += each;
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total));
  return total == expected ? 0 : 1;
}
