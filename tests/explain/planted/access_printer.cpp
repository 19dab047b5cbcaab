// Prints a line for each access to a site, as web servers do.
//
// category: stdio
// name: accesses | FILE | stdio
// certain: yes
// why: All threads print to one FILE, whose lock each call takes.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

#include "without.hpp"

namespace {

constexpr std::uint64_t expected = 1690;

SHARED std::FILE* accesses = nullptr;

[[gnu::noinline]] std::uint64_t print_access(int page, int status) {
  return std::fprintf(accesses, "GET /page/%d %d\n", page, status);
}

[[gnu::noinline]] void serve(int first, int step, int rounds, std::uint64_t& printed) {
#ifdef WITHOUT_CAUSE
  accesses = std::fopen("/dev/null", "w");
#endif
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) {
    for (int page = 0; page < 100; ++page) sum += print_access(page, page % 7 == 0 ? 404 : 200);
  }
  printed = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 120'000);
  accesses = std::fopen("/dev/null", "w");
  if (accesses == nullptr) return 2;
  std::vector<std::uint64_t> printed(threads);
  std::vector<std::thread> servers;
  for (int t = 0; t < threads; ++t) {
    servers.emplace_back(serve, t, threads, rounds, std::ref(printed[t]));
  }
  for (std::thread& each : servers) each.join();
  std::fclose(accesses);
  const std::uint64_t total = std::accumulate(printed.begin(), printed.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
