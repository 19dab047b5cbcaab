// Clerks examine applications for permits, and stamp them at the only counter of the office.
//
// category: mutex
// name: counter | freed
// holder: stamp < work
// certain: any
// why: The counter is taken by a flag and a condition: a lock that the program made itself.

#include <array>
#include <condition_variable>
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

constexpr std::uint64_t expected = 78479466;

class Counter {
 public:
  void enter() {
    std::unique_lock<std::mutex> lock(mutex_);
    freed_.wait(lock, [this] { return !taken_; });
    taken_ = true;
  }
  void leave() {
    const std::lock_guard<std::mutex> lock(mutex_);
    taken_ = false;
    freed_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable freed_;
  bool taken_ = false;
};

// The time that a clerk spends at the counter.
class Visit {
 public:
  explicit Visit(Counter& counter) : counter_(counter) { counter_.enter(); }
  ~Visit() { counter_.leave(); }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

 private:
  Counter& counter_;
};

SHARED Counter counter;
SHARED std::array<std::uint32_t, 64> register_of_permits{};
SHARED std::size_t stamped = 0;

std::uint32_t stir(std::uint32_t value, int times) {
  for (int i = 0; i < times; ++i) value = (value ^ (value >> 9)) * 0x9e3779b1U + 7;
  return value;
}

[[gnu::noinline]] std::uint32_t examine(std::uint32_t application) {
  return stir(application, 70'000);
}

[[gnu::noinline]] std::uint64_t stamp(std::uint32_t application) {
  const Visit visit(counter);
  const std::uint32_t seal = stir(application, 190'000);
  register_of_permits[stamped++ % register_of_permits.size()] = seal;
  return seal >> 8;
}

[[gnu::noinline]] void work(int first, int step, int rounds, std::uint64_t& result) {
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) {
    for (std::uint32_t application = 0; application < 10; ++application) {
      sum += stamp(examine(application));
    }
  }
  result = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 260);
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> clerks;
  for (int t = 0; t < threads; ++t) {
    clerks.emplace_back(work, t, threads, rounds, std::ref(results[t]));
  }
  for (std::thread& each : clerks) each.join();
#ifndef WITHOUT_CAUSE
  if (stamped != 10ULL * rounds) return 1;
#endif
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
