// A phone book that is cut into many drawers, each with a lock of its own.
//
// category: none
// certain: yes
// why: The threads take locks all the time, but rarely two of them the same drawer's.

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

constexpr std::uint64_t expected = 1039683;
constexpr std::uint32_t people = 1 << 15;

class PhoneBook {
 public:
  void enter(std::uint32_t person, std::uint32_t number) {
    Drawer& drawer = drawer_of(person);
    const std::scoped_lock lock(drawer.mutex);
    drawer.numbers[person] = number;
  }
  [[gnu::noinline]] std::uint32_t number_of(std::uint32_t person) {
    Drawer& drawer = drawer_of(person);
    const std::scoped_lock lock(drawer.mutex);
    return drawer.numbers.at(person);
  }

 private:
  struct alignas(128) Drawer {
    std::mutex mutex;
    std::unordered_map<std::uint32_t, std::uint32_t> numbers;
  };
  Drawer& drawer_of(std::uint32_t person) { return drawers_[(person * 2654435761U) >> 22]; }
  std::array<Drawer, 1024> drawers_;
};

PhoneBook book;

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int days = 2 + static_cast<int>(seconds * 800);
  for (std::uint32_t person = 0; person < people; ++person) book.enter(person, person * 7 % 9973);
  std::vector<std::uint64_t> dialled(threads);
  std::vector<std::thread> callers;
  for (int t = 0; t < threads; ++t) {
    callers.emplace_back([&dialled, t, threads, days] {
      std::uint64_t sum = 0;
      for (int day = t; day < days; day += threads) {
        for (std::uint32_t i = 0; i < people; ++i) {
          std::uint32_t number = book.number_of((i * 4099 + day * 31) % people);
          for (int ring = 0; ring < 60; ++ring) number = (number ^ (number >> 3)) * 0x9e3779b1U;
          sum += number % 64;
        }
      }
      dialled[t] = sum;
    });
  }
  for (std::thread& each : callers) each.join();
  std::uint64_t total = 0;
  for (const std::uint64_t each : dialled) total += each;
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / days));
  return total == expected * days ? 0 : 1;
}
