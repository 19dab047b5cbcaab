// Readings of water meters are entered into one book; its lock waits by means of std::atomic.
//
// category: mutex
// name: book_lock | book
// holder: enter < run
// certain: any
// why: Threads wait in std::atomic::wait for the word of a lock that the program made itself.

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include "without.hpp"

namespace {

constexpr std::uint64_t expected = 760231576;

class BookLock {
 public:
  void lock() {
    while (taken_.exchange(1, std::memory_order_acquire) != 0) {
      taken_.wait(1, std::memory_order_relaxed);
    }
  }
  void unlock() {
    taken_.store(0, std::memory_order_release);
    taken_.notify_one();
  }

 private:
  std::atomic<int> taken_{0};
};

SHARED BookLock book_lock;
SHARED std::array<std::uint32_t, 256> book{};
SHARED std::size_t line = 0;

[[gnu::noinline]] std::uint64_t enter(std::uint32_t reading) {
  const std::lock_guard<BookLock> lock(book_lock);
  std::uint32_t digest = reading + 1;
  for (int i = 0; i < 9000; ++i) digest = (digest ^ (digest >> 7)) * 0x9e3779b1U;
  book[line++ % book.size()] = digest;
  return digest >> 8;
}

[[gnu::noinline]] void run(int first, int step, int rounds, std::uint64_t& result) {
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) {
    for (std::uint32_t reading = 0; reading < 100; ++reading) sum += enter(reading);
  }
  result = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 570);
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back(run, t, threads, rounds, std::ref(results[t]));
  }
  for (std::thread& each : workers) each.join();
#ifndef WITHOUT_CAUSE
  if (line != 100ULL * rounds) return 1;
#endif
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
