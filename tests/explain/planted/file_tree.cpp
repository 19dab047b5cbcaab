// Sums the sizes of a tree of folders that several visitors walk again and again.
//
// category: mutex
// name: tree_lock | Tree
// holder: Tree::size_of < visit
// certain: yes
// why: The walk holds one recursive lock from the first folder to the last.

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

constexpr std::uint64_t expected = 1025627;

class Tree {
 public:
  Tree() {
    sizes.resize(1 << 11);
    for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = i * i % 1009;
  }
  [[gnu::noinline]] std::uint64_t size_of(std::size_t folder) {
    const std::lock_guard<std::recursive_mutex> lock(tree_lock);
    std::uint64_t sum = sizes[folder];
    for (std::size_t child = 2 * folder; child < sizes.size() && child <= 2 * folder + 1; ++child) {
      sum += size_of(child);
    }
    return sum;
  }

 private:
  std::recursive_mutex tree_lock;
  std::vector<std::uint64_t> sizes;
};

SHARED Tree tree;

[[gnu::noinline]] void visit(int first, int step, int rounds, std::uint64_t& seen) {
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) sum += tree.size_of(1);
  seen = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 64'000);
  std::vector<std::uint64_t> seen(threads);
  std::vector<std::thread> visitors;
  for (int t = 0; t < threads; ++t) {
    visitors.emplace_back(visit, t, threads, rounds, std::ref(seen[t]));
  }
  for (std::thread& each : visitors) each.join();
  const std::uint64_t total = std::accumulate(seen.begin(), seen.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
