// A ring of events into which threads write; the lock of the ring makes its system calls itself.
//
// category: mutex
// name: ring_lock | ring
// holder: record < run
// certain: yes
// why: Threads wait in a futex system call that is written in line, where no library sees it.

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

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

constexpr std::uint64_t expected = 842440000;

class RingLock {
 public:
  void lock() {
    int seen = 0;
    if (state_.compare_exchange_strong(seen, 1)) return;
    if (seen != 2) seen = state_.exchange(2);
    while (seen != 0) {
      futex(FUTEX_WAIT_PRIVATE, 2);
      seen = state_.exchange(2);
    }
  }
  void unlock() {
    if (state_.exchange(0) == 2) futex(FUTEX_WAKE_PRIVATE, 1);
  }

 private:
  void futex(long operation, long value) {
#ifdef __x86_64__
    long result = SYS_futex;
    register long timeout __asm__("r10") = 0;
    __asm__ __volatile__("syscall"
                         : "+a"(result)
                         : "D"(&state_), "S"(operation), "d"(value), "r"(timeout)
                         : "rcx", "r11", "memory");
#else
    syscall(SYS_futex, &state_, operation, value, nullptr);
#endif
  }
  std::atomic<int> state_{0};
};

SHARED RingLock ring_lock;
SHARED std::array<std::uint32_t, 256> ring{};
SHARED std::size_t place = 0;

[[gnu::noinline]] std::uint64_t record(std::uint32_t event) {
  const std::lock_guard<RingLock> lock(ring_lock);
  std::uint32_t digest = event + 1;
  for (int i = 0; i < 3000; ++i) digest = (digest ^ (digest >> 7)) * 0x9e3779b1U;
  ring[place++ % ring.size()] = digest;
  return digest >> 8;
}

[[gnu::noinline]] void run(int first, int step, int rounds, std::uint64_t& result) {
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) {
    for (std::uint32_t event = 0; event < 100; ++event) sum += record(event);
  }
  result = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 1'700);
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back(run, t, threads, rounds, std::ref(results[t]));
  }
  for (std::thread& each : workers) each.join();
#ifndef WITHOUT_CAUSE
  if (place != 100ULL * rounds) return 1;
#endif
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
