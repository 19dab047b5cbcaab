// Raises small matrices to high powers, independently of one another.
//
// category: run_queue
// certain: yes
// why: Four compute threads for each processor take turns on it.

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 0;
constexpr int side = 8;
using Matrix = std::array<std::uint32_t, side * side>;

Matrix multiply(const Matrix& a, const Matrix& b) {
  Matrix c{};
  for (int i = 0; i < side; ++i) {
    for (int k = 0; k < side; ++k) {
      for (int j = 0; j < side; ++j) c[i * side + j] += a[i * side + k] * b[k * side + j];
    }
  }
  return c;
}

[[gnu::noinline]] void raise(int first, int step, int rounds, std::uint64_t& trace) {
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) {
    Matrix base;
    std::iota(base.begin(), base.end(), 1U);
    Matrix power = base;
    for (int i = 0; i < 200; ++i) power = multiply(power, base);
    for (int i = 0; i < side; ++i) sum += power[i * side + i];
  }
  trace = sum;
}

}  // namespace

int main(int argc, char** argv) {
#ifdef WITHOUT_CAUSE
  constexpr int per_processor = 1;
#else
  constexpr int per_processor = 4;
#endif
  const int threads = per_processor * (argc > 1 ? std::atoi(argv[1]) : 2);
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 8 + static_cast<int>(seconds * 110'000);
  std::vector<std::uint64_t> traces(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back(raise, t, threads, rounds, std::ref(traces[t]));
  }
  for (std::thread& each : workers) each.join();
  const std::uint64_t total = std::accumulate(traces.begin(), traces.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
