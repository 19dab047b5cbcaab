// Builds an index of the words of many short texts.
//
// category: mutex
// name: words_mutex
// made: build_index
// holder: add_word < read_texts
// certain: yes
// why: The index is one map under one lock that lies on the stack of the function that builds it.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 61297;

using Index = std::map<std::string, std::uint64_t>;

struct Job {
  std::mutex& words_mutex;
  Index& index;
  int first;
  int step;
  int rounds;
};

[[gnu::noinline]] void add_word(const Job& job, const std::string& word) {
  const std::lock_guard<std::mutex> lock(job.words_mutex);
  job.index[word] += word.size();
}

[[gnu::noinline]] void read_texts(const Job& job) {
  std::string word;
  for (int round = job.first; round < job.rounds; round += job.step) {
    for (unsigned i = 0; i < 2000; ++i) {
      word = "a common beginning of words ";
      for (unsigned rest = i; rest != 0; rest /= 26) word += static_cast<char>('a' + rest % 26);
      add_word(job, word);
    }
  }
}

[[gnu::noinline]] std::uint64_t build_index(int threads, int rounds) {
  std::mutex words_mutex;
  Index index;
  std::vector<std::thread> readers;
  for (int t = 0; t < threads; ++t) {
    readers.emplace_back(read_texts, Job{words_mutex, index, t, threads, rounds});
  }
  for (std::thread& each : readers) each.join();
  std::uint64_t letters = 0;
  for (const auto& [word, count] : index) letters += count;
  return letters;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 1 + static_cast<int>(seconds * 2'000);
  const std::uint64_t letters = build_index(threads, rounds);
  std::printf("checksum %llu\n", static_cast<unsigned long long>(letters / rounds));
  return letters == expected * rounds ? 0 : 1;
}
