// Reads numbers from fields, some of which are not numbers.
//
// category: loader | mutex
// certain: any
// build: static
// why: In a static program each exception walks the list of loaded objects under the loader's lock.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 369;

constexpr std::uint64_t no_number = ~std::uint64_t{0};

[[gnu::noinline]] std::uint64_t read_number(const std::string& field) {
  std::uint64_t value = 0;
  for (const char c : field) {
#ifdef WITHOUT_CAUSE
    if (c < '0' || c > '9') return no_number;
#else
    if (c < '0' || c > '9') throw std::invalid_argument("not a number");
#endif
    value = value * 10 + (c - '0');
  }
  return value;
}

[[gnu::noinline]] std::uint64_t read_row(const std::vector<std::string>& row) {
  std::uint64_t sum = 0;
  for (const std::string& field : row) {
    try {
      const std::uint64_t number = read_number(field);
      sum += number == no_number ? 1 : number;
    } catch (const std::invalid_argument&) {
      sum += 1;
    }
  }
  return sum;
}

[[gnu::noinline]] void read_rows(int first, int step, int rounds, std::uint64_t& result) {
  const std::vector<std::string> row = {"12", "none", "345", "n/a", "x", "-", "7", "?"};
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) sum += read_row(row);
  result = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 220'000);
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back(read_rows, t, threads, rounds, std::ref(results[t]));
  }
  for (std::thread& each : workers) each.join();
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
