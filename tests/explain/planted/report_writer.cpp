// Writes reports with numbers as people read them, thousands apart.
//
// category: atomic | mutex
// name: locale
// certain: yes
// why: Each stream copies the global locale, which is not the classic one, and so counts in it.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <locale>
#include <numeric>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 603;

struct Thousands : std::numpunct<char> {
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

std::locale thousands_apart() { return std::locale(std::locale::classic(), new Thousands); }

[[gnu::noinline]] std::uint64_t write_line(std::uint32_t amount) {
  std::ostringstream line;
#ifdef WITHOUT_CAUSE
  thread_local const std::locale of_thread = thousands_apart();
  line.imbue(of_thread);
#endif
  line << amount;
  return line.str().size();
}

[[gnu::noinline]] void write_report(int first, int step, int rounds, std::uint64_t& result) {
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) {
    for (std::uint32_t line = 0; line < 100; ++line) sum += write_line(line * line * line);
  }
  result = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 24'000);
#ifndef WITHOUT_CAUSE
  std::locale::global(thousands_apart());
#endif
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back(write_report, t, threads, rounds, std::ref(results[t]));
  }
  for (std::thread& each : workers) each.join();
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
