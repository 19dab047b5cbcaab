// A post office whose counters draw numbers, as customers do, to see who may use the stamp.
//
// category: spin
// name: Queue | numbers | now_served | next_number
// made: main | stamp
// holder: stamp < work_off
// certain: yes
// why: The stamp is guarded by a ticket lock of the program's own, whose waiters spin.

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 1452684;

struct Queue {
  std::atomic<std::uint32_t> next_number{0};
  std::atomic<std::uint32_t> now_served{0};
};

struct Office {
  Queue numbers;
  std::uint64_t ink = 0;
};

[[gnu::noinline]] std::uint32_t stamp(Office& office, std::uint32_t letter) {
  const std::uint32_t number = office.numbers.next_number.fetch_add(1, std::memory_order_relaxed);
  for (int looks = 1; office.numbers.now_served.load(std::memory_order_acquire) != number;
       ++looks) {
    if (looks % 4096 == 0) std::this_thread::yield();  // whose turn it is may have no processor
  }
  for (int edge = 0; edge < 120; ++edge) letter = (letter ^ (letter >> 9)) * 0x9e3779b1U;
  office.ink += 1;
  office.numbers.now_served.store(number + 1, std::memory_order_release);
  return letter >> 16;
}

[[gnu::noinline]] std::uint64_t work_off(Office& office, int begin, int end) {
  std::uint64_t sum = 0;
  for (int bag = begin; bag < end; ++bag) {
    for (std::uint32_t letter = 1; letter <= 50; ++letter) sum += stamp(office, letter);
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int bags = 2 + static_cast<int>(seconds * 60'000);
#ifdef WITHOUT_CAUSE
  const int count = threads;
#else
  const int count = 1;
#endif
  std::vector<std::unique_ptr<Office>> offices;
  for (int i = 0; i < count; ++i) offices.push_back(std::make_unique<Office>());
  std::atomic<std::uint64_t> total{0};
  std::vector<std::thread> counters;
  for (int t = 0; t < threads; ++t) {
    counters.emplace_back([&, t] {
      total += work_off(*offices[t % count], static_cast<int>(1LL * bags * t / threads),
                        static_cast<int>(bags * (t + 1LL) / threads));
    });
  }
  for (std::thread& each : counters) each.join();
  std::uint64_t ink = 0;
  for (const std::unique_ptr<Office>& each : offices) ink += each->ink;
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / bags));
  return ink == 50ULL * bags && total == expected * bags ? 0 : 1;
}
