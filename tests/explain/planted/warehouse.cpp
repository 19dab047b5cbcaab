// A warehouse whose clerks book goods in and out.
//
// category: mutex
// name: shelf_lock_ | Warehouse
// made: open_warehouse
// holder: Warehouse::book < clerk
// certain: yes
// why: All bookings go through the one lock that is a member of the warehouse.

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 51200;

class Warehouse {
 public:
  [[gnu::noinline]] std::uint64_t book(unsigned article, int amount) {
    const std::unique_lock<std::mutex> lock(shelf_lock_);
    stock_[article % stock_.size()] += amount;
    std::uint64_t digest = article;
    for (const int each : stock_) digest = digest * 31 + static_cast<std::uint64_t>(each != 0);
    moves_ += 1;
    return digest & 1;
  }
  std::uint64_t moves() const { return moves_; }
  std::uint64_t goods() const {
    std::uint64_t sum = 0;
    for (const int each : stock_) sum += each;
    return sum;
  }

 private:
  std::array<int, 512> stock_{};
  std::uint64_t moves_ = 0;
  std::mutex shelf_lock_;
};

[[gnu::noinline]] std::unique_ptr<Warehouse> open_warehouse() {
  auto made = std::make_unique<Warehouse>();
  for (unsigned article = 0; article < 512; ++article) made->book(article, 100);
  return made;
}

[[gnu::noinline]] void clerk(Warehouse& house, int first, int step, int rounds) {
  std::uint64_t parity = 0;
  for (int round = first; round < rounds; round += step) {
    for (unsigned article = 0; article < 512; ++article) {
      parity += house.book(article, 3);
      parity += house.book(article * 7, -3);
    }
  }
  if (parity == 1) std::puts("nearly nothing was booked");
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 1 + static_cast<int>(seconds * 2000);
#ifdef WITHOUT_CAUSE
  const int count = threads;
#else
  constexpr int count = 1;
#endif
  std::vector<std::unique_ptr<Warehouse>> houses(count);
  for (std::unique_ptr<Warehouse>& each : houses) each = open_warehouse();
  std::vector<std::thread> clerks;
  for (int t = 0; t < threads; ++t) {
    clerks.emplace_back(clerk, std::ref(*houses[t % count]), t, threads, rounds);
  }
  for (std::thread& each : clerks) each.join();
  std::uint64_t moves = 0;
  std::uint64_t goods = 0;
  for (const std::unique_ptr<Warehouse>& each : houses) {
    moves += each->moves() - 512;
    goods += each->goods();
  }
  std::printf("checksum %llu\n", static_cast<unsigned long long>(goods / count));
  return moves == 1024ULL * rounds && goods == expected * count ? 0 : 1;
}
