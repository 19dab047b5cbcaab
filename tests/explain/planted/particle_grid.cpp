// Moves particles over a grid; each move is entered into the grid.
//
// category: spin
// name: grid_busy | busy | BusyFlag
// holder: enter < move_all
// certain: yes
// why: The grid is guarded by the program's own spin lock, an atomic_flag in a loop.

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

constexpr std::uint64_t expected = 1351680;
constexpr std::uint32_t side = 64;

class BusyFlag {
 public:
  void lock() {
    while (flag_.test_and_set(std::memory_order_acquire)) {
    }
  }
  void unlock() { flag_.clear(std::memory_order_release); }

 private:
  std::atomic_flag flag_;
};

SHARED BusyFlag grid_busy;
SHARED std::vector<std::uint32_t> grid(side* side);
std::atomic<std::uint64_t> entered{0};

void add_up_grid() { entered += std::accumulate(grid.begin(), grid.end(), std::uint64_t{0}); }

[[gnu::noinline]] std::uint32_t enter(std::uint32_t cell) {
  const std::lock_guard<BusyFlag> lock(grid_busy);
  std::uint32_t neighbours = 0;
  for (std::uint32_t i = 0; i < 9 * 9; ++i) {
    grid[(cell + i / 9 * side + i % 9) % grid.size()] += 1;
    neighbours += i;
  }
  return neighbours + cell;
}

[[gnu::noinline]] void move_all(int first, int step, int rounds, std::uint64_t& moved) {
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) {
    for (std::uint32_t cell = 0; cell < side * side; cell += 16) sum += enter(cell);
  }
  moved = sum;
#ifdef WITHOUT_CAUSE
  add_up_grid();
#endif
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 30000);
  std::vector<std::uint64_t> moved(threads);
  std::vector<std::thread> movers;
  for (int t = 0; t < threads; ++t) {
    movers.emplace_back(move_all, t, threads, rounds, std::ref(moved[t]));
  }
  for (std::thread& each : movers) each.join();
  const std::uint64_t total = std::accumulate(moved.begin(), moved.end(), std::uint64_t{0});
  add_up_grid();
  const bool complete = entered % (1ULL << 32) == rounds * 256ULL * 81 % (1ULL << 32);
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return complete && total == expected * rounds ? 0 : 1;
}
