// Computes lenses; every thread has a glass of its own, which it hands around by shared pointers.
//
// category: none
// certain: yes
// why: The owners of a glass are counted often, but all of them are in the thread that made it.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <vector>

namespace {

constexpr std::uint64_t expected = 12642859;

struct alignas(128) Glass {
  std::vector<std::uint32_t> indices;
};

struct Lens {
  std::shared_ptr<const Glass> glass;
  std::uint32_t curve;
};

[[gnu::noinline]] std::uint64_t refract(Lens lens, std::uint32_t ray) {
  return (lens.glass->indices[ray % lens.glass->indices.size()] * lens.curve) >> 4;
}

[[gnu::noinline]] std::uint64_t grind(int first, int step, int lenses) {
  const auto glass = std::make_shared<const Glass>(Glass{{1517, 1620, 1785, 1487}});
  std::uint64_t light = 0;
  for (int lens = first; lens < lenses; lens += step) {
    for (std::uint32_t ray = 0; ray < 500; ++ray) light += refract({glass, ray + 3}, ray);
  }
  return light;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int lenses = 2 + static_cast<int>(seconds * 160'000);
  std::vector<std::future<std::uint64_t>> grinders;
  for (int t = 1; t < threads; ++t) {
    grinders.push_back(std::async(std::launch::async, grind, t, threads, lenses));
  }
  std::uint64_t total = grind(0, threads, lenses);
  for (std::future<std::uint64_t>& each : grinders) total += each.get();
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / lenses));
  return total == expected * lenses ? 0 : 1;
}
