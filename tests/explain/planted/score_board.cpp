// A game's score board: players report points and read the ranking.
//
// category: spin
// name: board_lock
// holder: report < play
// certain: yes
// why: The ranking is sorted under a pthread spin lock.

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

constexpr std::uint64_t expected = 4656;

SHARED pthread_spinlock_t board_lock;
SHARED std::array<std::uint32_t, 24> board{};

[[gnu::noinline]] std::uint32_t report(std::uint32_t points) {
  pthread_spin_lock(&board_lock);
  for (std::uint32_t place = 0; place < board.size(); ++place) board[place] = (place * points) % 97;
  std::sort(board.begin(), board.end());
  const std::uint32_t middle = board[board.size() / 2];
  pthread_spin_unlock(&board_lock);
  return middle;
}

[[gnu::noinline]] void play(int first, int step, int rounds, std::uint64_t& score) {
#ifdef WITHOUT_CAUSE
  pthread_spin_init(&board_lock, PTHREAD_PROCESS_PRIVATE);
#endif
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) {
    for (std::uint32_t points = 1; points < 97; ++points) sum += report(points);
  }
  score = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 180'000);
  pthread_spin_init(&board_lock, PTHREAD_PROCESS_PRIVATE);
  std::vector<std::uint64_t> score(threads);
  std::vector<std::thread> players;
  for (int t = 0; t < threads; ++t) {
    players.emplace_back(play, t, threads, rounds, std::ref(score[t]));
  }
  for (std::thread& each : players) each.join();
  const std::uint64_t total = std::accumulate(score.begin(), score.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
