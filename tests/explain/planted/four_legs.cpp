// Races of four legs: each leg begins where the one before it ended.
//
// category: serial_dependency
// certain: any
// why: Each leg is a std::async that first gets the future of the leg before it.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <future>

namespace {

constexpr std::uint64_t expected = 481553;
constexpr int legs = 4;

[[gnu::noinline]] std::uint64_t run(std::uint64_t stride, int metres) {
  for (int i = 0; i < metres; ++i) stride = (stride ^ (stride >> 33)) * 0xff51afd7ed558ccdULL + 7;
  return stride;
}

std::uint64_t race(int metres) {
  std::shared_future<std::uint64_t> baton = std::async(std::launch::async, run, 1, metres).share();
  for (int leg = 1; leg < legs; ++leg) {
    const auto next = [baton, metres] { return run(baton.get(), metres); };
    baton = std::async(std::launch::async, next).share();
  }
  return baton.get() >> 44;
}

}  // namespace

int main(int, char** argv) {
  const double seconds = argv[1] != nullptr && argv[2] != nullptr ? std::atof(argv[2]) : 1.5;
  const int races = 1 + static_cast<int>(seconds * 13);
  std::uint64_t total = 0;
  for (int i = 0; i < races; ++i) total += race(9'000'000);
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / races));
  return total == expected * races ? 0 : 1;
}
