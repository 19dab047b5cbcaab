// Fish that swim in one tank; where a fish is, no other may be.
//
// category: spin
// name: gate | Tank | Gate | tank
// holder: Fish::swim < live
// certain: yes
// why: The tank has a spin lock that is tested before it is taken, with a pause between the looks.

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "without.hpp"

namespace {

constexpr std::uint64_t expected = 1716;

class Gate {
 public:
  void enter() {
    while (shut_.exchange(true, std::memory_order_acquire)) {
      while (shut_.load(std::memory_order_relaxed)) relax();
    }
  }
  void leave() { shut_.store(false, std::memory_order_release); }

 private:
  static void relax() {
#ifdef __x86_64__
    __builtin_ia32_pause();
#else
    std::this_thread::yield();
#endif
  }
  std::atomic<bool> shut_{false};
};

struct Tank {
  Gate gate;
  std::array<std::uint8_t, 256> water{};
};

SHARED Tank tank;

class Fish {
 public:
  [[gnu::noinline]] std::uint32_t swim(std::uint32_t strokes) {
    tank.gate.enter();
    tank.water[place_] = 0;
    for (std::uint32_t stroke = 0; stroke < strokes; ++stroke) {
      do place_ = (place_ * 5 + 3 + stroke) % 256;
      while (tank.water[place_] != 0);
    }
    tank.water[place_] = 1;
    tank.gate.leave();
    return strokes;
  }

 private:
  std::uint32_t place_ = 0;
};

[[gnu::noinline]] std::uint64_t live(int days) {
  Fish fish;
  std::uint64_t strokes = 0;
  for (int day = 0; day < days; ++day) {
    for (std::uint32_t i = 0; i < 24; ++i) strokes += fish.swim(60 + i);
  }
  return strokes;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int days = 2 + static_cast<int>(seconds * 300'000);
  std::atomic<std::uint64_t> strokes{0};
  std::vector<std::thread> shoal;
  for (int t = 0; t < threads; ++t) {
    const auto share = static_cast<int>(days * (t + 1LL) / threads - 1LL * days * t / threads);
    shoal.emplace_back([&strokes, share] { strokes += live(share); });
  }
  for (std::thread& each : shoal) each.join();
  std::printf("checksum %llu\n", static_cast<unsigned long long>(strokes / days));
  return strokes == expected * days ? 0 : 1;
}
