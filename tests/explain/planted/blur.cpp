// Blurs pictures; each thread has pictures of its own.
//
// category: none
// certain: yes
// why: The threads only compute, each in memory of its own.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 134209536;
constexpr int width = 256;

[[gnu::noinline]] std::uint64_t blur(std::vector<std::uint32_t>& from,
                                     std::vector<std::uint32_t>& to) {
  std::uint64_t sum = 0;
  for (int pass = 0; pass < 4; ++pass) {
    for (std::size_t i = width; i + width < from.size(); ++i) {
      to[i] = (from[i - width] + from[i - 1] + 4 * from[i] + from[i + 1] + from[i + width]) / 8;
    }
    from.swap(to);
  }
  for (const std::uint32_t each : from) sum += each;
  return sum;
}

[[gnu::noinline]] void blur_all(int first, int step, int rounds, std::uint64_t& result) {
  std::vector<std::uint32_t> from(width * 64);
  std::vector<std::uint32_t> to(width * 64);
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) {
    std::iota(from.begin(), from.end(), 0U);
    to = from;
    sum += blur(from, to);
  }
  result = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 40000);
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back(blur_all, t, threads, rounds, std::ref(results[t]));
  }
  for (std::thread& each : workers) each.join();
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
