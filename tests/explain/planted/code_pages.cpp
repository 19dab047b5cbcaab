// Converts texts with the tables of code pages, each made when it is first needed.
//
// category: once
// name: made | CodePage | code_pages
// holder: CodePage::make < CodePage::table < convert
// certain: yes
// why: All threads come to the same new code page, and one makes its table while the others wait.

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 1324903507200;

int passes = 0;

class CodePage {
 public:
  [[gnu::noinline]] const std::array<std::uint32_t, 256>& table() {
    std::call_once(made_, &CodePage::make, this);
    return table_;
  }

 private:
  [[gnu::noinline]] void make() {
    for (int pass = 0; pass < passes; ++pass) {
      std::uint32_t state = pass > 0 && table_.back() == 0 ? 0 : 1;
      for (std::uint32_t& each : table_) {
        for (int i = 0; i < 8; ++i) state = (state ^ (state >> 7)) * 0x9e3779b1U;
        each = state >> 8;
      }
    }
  }
  std::once_flag made_;
  std::array<std::uint32_t, 256> table_{};
};

std::array<CodePage, 40> code_pages;

[[gnu::noinline]] void convert(int begin, int end, std::uint64_t& result) {
  std::uint64_t sum = 0;
  for (CodePage& page : code_pages) {
    const std::array<std::uint32_t, 256>& table = page.table();
    for (int letter = begin; letter < end; ++letter) sum += table[letter % 256];
  }
  result = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  passes = 1 + static_cast<int>(seconds * 12'000);
  const int letters = 4096;
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back(convert, letters * t / threads, letters * (t + 1) / threads,
                         std::ref(results[t]));
  }
  for (std::thread& each : workers) each.join();
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total));
  return total == expected ? 0 : 1;
}
