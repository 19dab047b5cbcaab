// In how many ways an amount can be paid with coins, by trying each coin or leaving it out.
//
// category: task_overhead
// certain: yes
// build: tmk
// why: Each coin forks two branches, though most branches end at once.

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <tmk/fork_join.hpp>
#include <tmk/pool.hpp>
#include <tuple>

namespace {

constexpr std::uint64_t expected = 2064;
constexpr std::array<int, 6> coins = {1, 2, 5, 10, 20, 50};

std::uint64_t ways(int amount, unsigned coin) {
  if (amount == 0) return 1;
  if (amount < 0 || coin == coins.size()) return 0;
#ifdef WITHOUT_CAUSE
  if (amount < 70) return ways(amount - coins[coin], coin) + ways(amount, coin + 1);
#endif
  const auto [with, without] = tmk::fork_join([=] { return ways(amount - coins[coin], coin); },
                                              [=] { return ways(amount, coin + 1); });
  return with + without;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 1'000);
  tmk::pool pool(threads);
  std::uint64_t total = 0;
  pool.run([&] {
    for (int round = 0; round < rounds; ++round) total += ways(80, 0);
  });
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
