// Shuffles decks of cards and looks how often a card stays at its place.
//
// category: mutex
// name: rand
// certain: yes
// why: Each card draws a number from rand(), which has one lock in the C library.

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 1326;

#ifdef WITHOUT_CAUSE
std::int32_t draw() {
  thread_local std::mutex own;
  thread_local std::array<char, 128> state;
  thread_local random_data generator{};
  thread_local const int ready = initstate_r(1, state.data(), state.size(), &generator);
  const std::lock_guard<std::mutex> lock(own);
  std::int32_t number = ready;
  random_r(&generator, &number);
  return number;
}
#else
int draw() { return std::rand(); }
#endif

[[gnu::noinline]] std::uint64_t shuffle(std::uint64_t& stayed) {
  std::array<std::uint8_t, 52> deck;
  std::iota(deck.begin(), deck.end(), std::uint8_t{0});
  for (int card = 51; card > 0; --card) {
    std::swap(deck[card], deck[draw() % (card + 1)]);
  }
  std::uint64_t sum = 0;
  for (int card = 0; card < 52; ++card) {
    stayed += deck[card] == card ? 1 : 0;
    sum += deck[card];
  }
  return sum;
}

[[gnu::noinline]] void play(int first, int step, int rounds, std::uint64_t& result) {
  std::uint64_t sum = 0;
  std::uint64_t stayed = 0;
  for (int round = first; round < rounds; round += step) sum += shuffle(stayed);
  result = stayed == 1 ? 0 : sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 950'000);
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back(play, t, threads, rounds, std::ref(results[t]));
  }
  for (std::thread& each : workers) each.join();
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
