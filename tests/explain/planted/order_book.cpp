// An exchange whose brokers put orders into one book and match them.
//
// category: mutex
// name: book_mutex
// holder: match < trade
// certain: yes
// why: Matching an order holds the adaptive pthread mutex of the book.

#include <pthread.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

#include "without.hpp"

namespace {

constexpr std::uint64_t expected = 41900;

SHARED pthread_mutex_t book_mutex = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
SHARED std::array<std::uint32_t, 64> prices{};

[[gnu::noinline]] std::uint32_t match(std::uint32_t price) {
  pthread_mutex_lock(&book_mutex);
  std::uint32_t filled = 0;
  for (std::uint32_t level = 0; level < 12; ++level) {
    auto best = std::max_element(prices.begin(), prices.end());
    filled += *best > price ? 1 : 0;
    *best = price + level;
  }
  prices.fill(0);
  pthread_mutex_unlock(&book_mutex);
  return filled + price;
}

[[gnu::noinline]] void trade(int first, int step, int rounds, std::uint64_t& volume) {
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) {
    for (std::uint32_t price = 100; price < 300; ++price) sum += match(price);
  }
  volume = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 14'000);
  std::vector<std::uint64_t> volume(threads);
  std::vector<std::thread> brokers;
  for (int t = 0; t < threads; ++t) {
    brokers.emplace_back(trade, t, threads, rounds, std::ref(volume[t]));
  }
  for (std::thread& each : brokers) each.join();
  const std::uint64_t total = std::accumulate(volume.begin(), volume.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
