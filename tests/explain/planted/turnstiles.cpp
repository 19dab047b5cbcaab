// Counts visitors at turnstiles, each of which has a counter on a line of its own.
//
// category: none
// certain: yes
// why: The counters are atomic, but each is written by one thread and shares its line with none.

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 960;

struct alignas(256) Turnstile {
  std::atomic<std::uint64_t> passed{0};
  std::atomic<std::uint64_t> turned_back{0};

  [[gnu::noinline]] void pass(std::uint32_t ticket) {
    (ticket % 16 == 3 ? turned_back : passed).fetch_add(1);
  }
};

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int hours = 2 + static_cast<int>(seconds * 250'000);
  std::vector<Turnstile> stiles(threads);
  std::vector<std::thread> gates;
  for (int t = 0; t < threads; ++t) {
    gates.emplace_back([&stiles, t, threads, hours] {
      for (int hour = t; hour < hours; hour += threads) {
        for (std::uint32_t ticket = 0; ticket < 1024; ++ticket) stiles[t].pass(ticket * 7);
      }
    });
  }
  for (std::thread& each : gates) each.join();
  std::uint64_t passed = 0;
  for (const Turnstile& each : stiles) passed += each.passed;
  std::printf("checksum %llu\n", static_cast<unsigned long long>(passed / hours));
  return passed == expected * hours ? 0 : 1;
}
