// Quotations are worked out side by side and put on a tape in their order.
//
// category: serial_dependency
// name: ordered
// certain: any
// build: openmp
// why: The part that needs the order has most of the work, and one thread is in it at a time.

#include <omp.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr std::uint64_t expected = 949592;
constexpr int quotations = 200;

[[gnu::noinline]] std::uint64_t work_out(std::uint64_t number) {
  for (int i = 0; i < 8000; ++i) number = number * 6364136223846793005ULL + 1;
  return number;
}

[[gnu::noinline]] std::uint64_t punch(std::uint64_t tape, std::uint64_t quotation) {
  for (int i = 0; i < 60'000; ++i) tape = (tape ^ (quotation + i)) * 1099511628211ULL;
  return tape;
}

std::uint64_t trade() {
  std::uint64_t tape = 1;
#pragma omp parallel for ordered schedule(static, 1)
  for (int i = 0; i < quotations; ++i) {
    const std::uint64_t quotation = work_out(i);
#pragma omp ordered
    tape = punch(tape, quotation);
  }
  return tape >> 44;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  omp_set_num_threads(threads);
  const int days = 1 + static_cast<int>(seconds * 80);
  std::uint64_t total = 0;
  for (int day = 0; day < days; ++day) total += trade();
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / days));
  return total == expected * days ? 0 : 1;
}
