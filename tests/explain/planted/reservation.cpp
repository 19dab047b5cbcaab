// Reserves seats of trains; a clerk that waits too long for the plan of the seats asks again.
//
// category: mutex
// name: plan_mutex
// holder: reserve < sell
// certain: yes
// why: The search for a free seat runs under a timed lock that all clerks need.

#include <array>
#include <chrono>
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

constexpr std::uint64_t expected = 319600;
constexpr std::size_t seats = 800;

SHARED std::timed_mutex plan_mutex;
SHARED std::array<std::uint32_t, seats> plan{};

[[gnu::noinline]] std::size_t reserve(std::uint32_t customer) {
  std::unique_lock<std::timed_mutex> lock(plan_mutex, std::defer_lock);
  while (!lock.try_lock_for(std::chrono::milliseconds(20))) {
  }
  std::size_t seat = 0;
  while (seat < seats && plan[seat] != 0) ++seat;
  if (seat == seats) {  // the train leaves and the next one is empty
    plan.fill(0);
    seat = 0;
  }
  plan[seat] = customer;
  return seat;
}

[[gnu::noinline]] void sell(int first, int step, int rounds, std::uint64_t& sold) {
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) {
    for (std::uint32_t customer = 1; customer <= seats; ++customer) sum += reserve(customer);
  }
  sold = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 4000);
  std::vector<std::uint64_t> sold(threads);
  std::vector<std::thread> clerks;
  for (int t = 0; t < threads; ++t) {
    clerks.emplace_back(sell, t, threads, rounds, std::ref(sold[t]));
  }
  for (std::thread& each : clerks) each.join();
  const std::uint64_t total = std::accumulate(sold.begin(), sold.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
