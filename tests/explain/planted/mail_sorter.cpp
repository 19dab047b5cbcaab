// Sorts bags of mail by town; each bag is sorted by several threads.
//
// category: thread_creation
// certain: yes
// why: Threads are made and ended for each bag, whose letters are far less work than that.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 127495;
constexpr std::uint32_t letters = 1000;

[[gnu::noinline]] void sort_part(std::uint32_t begin, std::uint32_t end, std::uint64_t& towns) {
  std::uint64_t sum = 0;
  for (std::uint32_t letter = begin; letter < end; ++letter) sum += letter * 2654435761U >> 24;
  towns = sum;
}

[[gnu::noinline, maybe_unused]] std::uint64_t sort_bag(int threads) {
  std::vector<std::uint64_t> towns(threads);
  std::vector<std::thread> sorters;
  for (int t = 0; t < threads; ++t) {
    sorters.emplace_back(sort_part, letters * t / threads, letters * (t + 1) / threads,
                         std::ref(towns[t]));
  }
  for (std::thread& each : sorters) each.join();
  return std::accumulate(towns.begin(), towns.end(), std::uint64_t{0});
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int bags = 2 + static_cast<int>(seconds * 20'000);
  std::uint64_t total = 0;
#ifdef WITHOUT_CAUSE
  std::vector<std::uint64_t> towns(threads);
  std::vector<std::thread> sorters;
  for (int t = 0; t < threads; ++t) {
    sorters.emplace_back([t, threads, bags, &towns] {
      for (int bag = 0; bag < bags; ++bag) {
        std::uint64_t part = 0;
        sort_part(letters * t / threads, letters * (t + 1) / threads, part);
        towns[t] += part;
      }
    });
  }
  for (std::thread& each : sorters) each.join();
  total = std::accumulate(towns.begin(), towns.end(), std::uint64_t{0});
#else
  for (int bag = 0; bag < bags; ++bag) total += sort_bag(threads);
#endif
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / bags));
  return total == expected * bags ? 0 : 1;
}
