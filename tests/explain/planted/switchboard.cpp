// A telephone exchange: even threads count calls that begin, odd ones calls that end.
//
// category: false_sharing
// name: Exchange | begun | ended | Desk::count_
// made: main | connect
// certain: any
// why: Both counts are atomic words of one line, and each is written by threads of its own.

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 1000;

#ifdef WITHOUT_CAUSE
constexpr std::size_t apart = 128;
#else
constexpr std::size_t apart = 8;
#endif

struct alignas(64) Exchange {
  std::uint64_t lines = 0;
  alignas(apart) std::atomic<std::uint64_t> begun{0};
  alignas(apart) std::atomic<std::uint64_t> ended{0};
};

class Desk {
 public:
  Desk(Exchange& exchange, int number)
      : count_(number % 2 == 0 ? exchange.begun : exchange.ended), line_(number + 1) {}
  void work(int hours) {
    for (int hour = 0; hour < hours; ++hour) {
      for (int call = 0; call < 1000; ++call) connect();
    }
  }

 private:
  [[gnu::noinline]] void connect() {
    line_ = line_ * 1664525 + 1013904223;
    if (line_ != 0) count_.fetch_add(1, std::memory_order_relaxed);
  }
  std::atomic<std::uint64_t>& count_;
  std::uint64_t line_;
};

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int hours = 2 + static_cast<int>(seconds * 80'000);
  const auto exchange = std::make_unique<Exchange>();
  std::vector<std::thread> desks;
  for (int t = 0; t < threads; ++t) {
    const int share = hours * (t + 1) / threads - hours * t / threads;
    desks.emplace_back([&exchange, t, share] { Desk(*exchange, t).work(share); });
  }
  for (std::thread& each : desks) each.join();
  const std::uint64_t calls = exchange->begun + exchange->ended;
  std::printf("checksum %llu\n", static_cast<unsigned long long>(calls / hours));
  return calls == expected * hours ? 0 : 1;
}
