// Follows routes in a routing table whose entries count their readers.
//
// category: atomic
// name: Entry | readers
// made: Table | look_up | follow
// certain: yes
// threads: 1,2
// why: Each look-up counts its reader in the entry, so entries move between the processors.

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr std::uint32_t entries = 4096;

struct alignas(64) Entry {
  std::uint32_t next = 0;
  std::uint32_t cost = 0;
#ifndef WITHOUT_CAUSE
  mutable std::atomic<std::uint32_t> readers{0};
#endif
};

class Table {
 public:
  Table() : entries_(std::make_unique<Entry[]>(entries)) {
    std::uint32_t state = 1;
    for (std::uint32_t i = 0; i < entries; ++i) {
      state = state * 1664525 + 1013904223;
      entries_[i].next = (i * 1021 + 7) % entries;
      entries_[i].cost = state >> 28;
    }
  }

  [[gnu::noinline]] std::uint64_t follow(std::uint32_t at, int hops) const {
    std::uint64_t cost = 0;
    for (int hop = 0; hop < hops; ++hop) {
      const Entry& entry = entries_[at];
#ifndef WITHOUT_CAUSE
      entry.readers.fetch_add(1, std::memory_order_acquire);
#endif
      cost += entry.cost;
      at = entry.next;
#ifndef WITHOUT_CAUSE
      entry.readers.fetch_sub(1, std::memory_order_release);
#endif
    }
    return cost;
  }

 private:
  std::unique_ptr<Entry[]> entries_;
};

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  constexpr int routes = 64;
  constexpr int hops = 5'000;
  const int rounds = 2 + static_cast<int>(seconds * 150);
  const Table table;
  std::vector<std::uint64_t> costs(static_cast<std::size_t>(threads));
  const auto dispatch = [&](int thread) {
    std::uint64_t sum = 0;
    for (int each = thread; each < routes * rounds; each += threads) {
      sum += table.follow(static_cast<std::uint32_t>(each % routes), hops);
    }
    costs[static_cast<std::size_t>(thread)] = sum;
  };
  std::vector<std::thread> dispatchers;
  for (int thread = 0; thread < threads; ++thread) dispatchers.emplace_back(dispatch, thread);
  for (std::thread& each : dispatchers) each.join();
  const std::uint64_t total = std::accumulate(costs.begin(), costs.end(), std::uint64_t{0});
  std::uint64_t alone = 0;
  for (std::uint32_t each = 0; each < routes; ++each) alone += table.follow(each, hops);
  std::printf("cost %llu\n", static_cast<unsigned long long>(total));
  return total == alone * static_cast<std::uint64_t>(rounds) ? 0 : 1;
}
