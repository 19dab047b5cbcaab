// A lost property office: what one thread brings in a box, another takes away.
//
// category: allocator
// certain: yes
// why: Whole boxes of blocks are made by one thread and freed by another, in the first one's arena.

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "without.hpp"

namespace {

constexpr std::uint64_t expected = 1881600;

struct Thing {
  explicit Thing(std::size_t size) : weight(size), material(new char[size]) { material[0] = 1; }
  std::size_t weight;
  std::unique_ptr<char[]> material;
};
using Box = std::vector<Thing>;

SHARED std::array<std::atomic<Box*>, 4> counter{};

std::unique_ptr<Box> pack(std::uint32_t number) {
  auto box = std::make_unique<Box>();
  box->reserve(48);
  for (std::uint32_t i = 0; i < 48; ++i) box->emplace_back(1400 + (number + i) % 8 * 300);
  return box;
}

[[gnu::noinline]] std::uint64_t visit(std::uint32_t number) {
  std::unique_ptr<Box> box = pack(number);
  std::uint64_t weight = 0;
  for (const Thing& each : *box) weight += each.weight;
  box.reset(counter[number % counter.size()].exchange(box.release()));
  return weight;  // and what was there goes with the visitor
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 18'000);
  std::atomic<std::uint64_t> weight{0};
  std::vector<std::thread> people;
  for (int t = 0; t < threads; ++t) {
    people.emplace_back([&weight, t, threads, rounds] {
      std::uint64_t mine = 0;
      for (int round = t; round < rounds; round += threads) {
        for (std::uint32_t number = 0; number < 16; ++number) mine += visit(number);
      }
      weight += mine;
    });
  }
  for (std::thread& each : people) each.join();
  for (std::atomic<Box*>& each : counter) delete each.load();
  std::printf("checksum %llu\n", static_cast<unsigned long long>(weight / rounds));
  return weight == expected * rounds ? 0 : 1;
}
