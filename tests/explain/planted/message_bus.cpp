// Passes messages between its threads by a table of mail boxes.
//
// category: allocator
// certain: yes
// why: Messages of more than 4096 bytes are freed by other threads than made them, arena by arena.

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "without.hpp"

namespace {

constexpr std::uint64_t expected = 5693600;
using Message = std::vector<char>;

SHARED std::array<std::atomic<Message*>, 1024> boxes{};

[[gnu::noinline]] std::uint64_t post(std::uint32_t number) {
  auto message = std::make_unique<Message>(4200 + number % 16 * 200);
  (*message)[0] = 'm';
  const std::uint64_t size = message->size();
  const std::unique_ptr<Message> before(boxes[number % boxes.size()].exchange(message.release()));
  return size + (before == nullptr || (*before)[0] == 'm' ? 0 : 1);
}

void empty_boxes() {
  for (std::atomic<Message*>& each : boxes) delete each.load();
}

[[gnu::noinline]] void send(int first, int step, int rounds, std::uint64_t& sent) {
  std::uint64_t sum = 0;
  std::uint32_t state = first + 1;
  for (int round = first; round < rounds; round += step) {
    for (std::uint32_t number = 0; number < 1000; ++number) {
      state = state * 1664525 + 1013904223;
      sum += post((state >> 8 & ~15U) + number % 16);
    }
  }
  sent = sum;
#ifdef WITHOUT_CAUSE
  empty_boxes();
#endif
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 5000);
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back(send, t, threads, rounds, std::ref(results[t]));
  }
  for (std::thread& each : workers) each.join();
  empty_boxes();
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
