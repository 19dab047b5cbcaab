// A chess club with one table of ratings, into which all games are entered.
//
// category: spin
// name: busy | Ratings | ratings
// holder: enter_game < play_season
// certain: yes
// why: Who finds the ratings busy yields the processor and looks again, in a loop.

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "without.hpp"

namespace {

constexpr std::uint64_t expected = 64;
constexpr std::uint32_t members = 64;

struct Ratings {
  std::array<std::uint32_t, members> points{};
  std::atomic_flag busy;
};

SHARED Ratings ratings;

[[gnu::noinline]] std::uint32_t enter_game(std::uint32_t white, std::uint32_t black) {
  while (ratings.busy.test(std::memory_order_relaxed) ||
         ratings.busy.test_and_set(std::memory_order_acquire)) {
    std::this_thread::yield();
  }
  ratings.points[white] += 2;
  ratings.points[black] += 1;
  std::uint32_t better = 0;
  for (const std::uint32_t each : ratings.points) better += each % 7 > white % 7 ? 1 : 0;
  for (int i = 0; i < 200; ++i) better = (better ^ (better >> 3)) * 3 + 1;
  ratings.busy.clear(std::memory_order_release);
  return better == 0 ? 1 : 2;
}

[[gnu::noinline]] void play_season(std::uint32_t first, std::uint32_t step, int seasons,
                                   std::uint64_t& result) {
  std::uint64_t games = 0;
  for (int season = 0; season < seasons; ++season) {
    for (std::uint32_t white = first; white < members; white += step) {
      games += enter_game(white, (white + season + 1) % members) > 0 ? 1 : 0;
    }
  }
  result = games;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int seasons = 2 + static_cast<int>(seconds * 40'000);
  std::vector<std::uint64_t> games(threads);
  std::vector<std::thread> players;
  for (int t = 0; t < threads; ++t) {
    players.emplace_back(play_season, t, threads, seasons, std::ref(games[t]));
  }
  for (std::thread& each : players) each.join();
  std::uint64_t total = 0;
  for (const std::uint64_t each : games) total += each;
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / seasons));
  return total == expected * seasons ? 0 : 1;
}
