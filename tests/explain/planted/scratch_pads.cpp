// Sums columns on scratch pads, which are given back to the system after each use.
//
// category: kernel_memory
// certain: yes
// why: madvise empties the pad after each sum, and the next sum faults all its pages in again.

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 267914240;
constexpr std::size_t words = 1 << 18;

class Pad {
 public:
  Pad()
      : memory_(
            static_cast<std::uint32_t*>(mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
    madvise(memory_, size, MADV_NOHUGEPAGE);
  }
  ~Pad() { munmap(memory_, size); }
  Pad(const Pad&) = delete;
  Pad& operator=(const Pad&) = delete;
  std::uint32_t* begin() { return memory_; }
  void clear() {
#ifndef WITHOUT_CAUSE
    madvise(memory_, size, MADV_DONTNEED);
#endif
  }

 private:
  static constexpr std::size_t size = words * sizeof(std::uint32_t);
  std::uint32_t* memory_;
};

[[gnu::noinline]] std::uint64_t sum_columns(Pad& pad, std::uint32_t table) {
  std::uint64_t sum = 0;
  for (std::size_t place = 0; place < words; place += 512) {
    pad.begin()[place] = static_cast<std::uint32_t>(place) ^ table;
    sum += pad.begin()[place];
  }
  pad.clear();
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int tables = 4 * (2 + static_cast<int>(seconds * 1'500));
  std::vector<std::uint64_t> sums(threads);
  std::vector<std::thread> workers;
  const auto work = [&](int t) {
    Pad pad;
    for (int table = t; table < tables; table += threads) sums[t] += sum_columns(pad, table % 4);
  };
  for (int t = 1; t < threads; ++t) workers.emplace_back(work, t);
  work(0);
  for (std::thread& each : workers) each.join();
  std::uint64_t total = 0;
  for (const std::uint64_t each : sums) total += each;
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / (tables / 4)));
  return total == expected * (tables / 4) ? 0 : 1;
}
