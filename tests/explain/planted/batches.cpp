// Adds up batches of measurements; all threads finish a batch before the next one begins.
//
// category: barrier
// name: latch | finished | batches
// certain: yes
// why: A batch is so little work that the latch at its end takes most of the time.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <latch>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 496126480;
constexpr int per_batch = 512;
#ifdef _LIBCPP_VERSION  // whose threads spin at a latch before they sleep
constexpr int batches_per_second = 3'000'000;
#else
constexpr int batches_per_second = 200'000;
#endif

struct Batch {
  explicit Batch(int threads) : finished(threads) {}
  std::latch finished;
};

std::deque<Batch> batches;
std::vector<std::uint64_t> measurements(per_batch);

[[gnu::noinline]] std::uint64_t add_up(int begin, int end) {
  std::uint64_t sum = 0;
  for (int i = begin; i < end; ++i) sum += (measurements[i] * 31) >> 5;
  return sum;
}

[[gnu::noinline]] void run(int begin, int end, std::uint64_t& result) {
  std::uint64_t sum = 0;
  for (Batch& batch : batches) {
    sum += add_up(begin, end);
#ifdef WITHOUT_CAUSE
    batch.finished.count_down();
#else
    batch.finished.arrive_and_wait();
#endif
  }
  result = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * batches_per_second);
  std::iota(measurements.begin(), measurements.end(), 1'000'000ULL);
  for (int round = 0; round < rounds; ++round) batches.emplace_back(threads);
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back(run, per_batch * t / threads, per_batch * (t + 1) / threads,
                         std::ref(results[t]));
  }
  for (std::thread& each : workers) each.join();
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
