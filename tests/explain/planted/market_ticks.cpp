// A market publishes ticks; traders are woken, price their share of the instruments and report.
//
// category: mutex
// name: board_mutex | Board
// made: price_share | Board | main
// holder: Board::price_share
// certain: yes
// why: All traders are woken, and each prices its instruments with the mutex locked.

#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

namespace {

constexpr int instruments = 40000;

double fair_price(double spot, int strike) {
  const double distance = std::log(spot / (50.0 + strike % 100));
  return spot * std::exp(-0.5 * distance * distance) + std::sqrt(spot + strike);
}

class Board {
 public:
  explicit Board(int traders) : traders_(traders) {}

  void publish(double spot) {
    std::unique_lock lock(board_mutex_);
    spot_ = spot;
    ++tick_;
    reported_ = 0;
    ticked_.notify_all();  // while it is locked
    done_.wait(lock, [this] { return reported_ == traders_; });
  }

  void close() {
    const std::lock_guard lock(board_mutex_);
    closed_ = true;
    ticked_.notify_all();
  }

  // Waits for the next tick and prices a trader's share. False at the end of trading.
  [[gnu::noinline]] bool price_share(int trader, std::uint64_t& seen, double& value) {
    std::unique_lock lock(board_mutex_);
    ticked_.wait(lock, [&] { return closed_ || tick_ != seen; });
    if (tick_ == seen) return false;
    seen = tick_;
    const double spot = spot_;
#ifdef WITHOUT_CAUSE
    lock.unlock();
#endif
    for (int i = trader; i < instruments; i += traders_) value += fair_price(spot, i);
#ifdef WITHOUT_CAUSE
    lock.lock();
#endif
    priced_ += (instruments - trader + traders_ - 1) / traders_;
    if (++reported_ == traders_) done_.notify_one();
    return true;
  }
  std::uint64_t priced() const { return priced_; }

 private:
  const int traders_;
  std::mutex board_mutex_;
  std::condition_variable ticked_;
  std::condition_variable done_;
  double spot_ = 0;
  std::uint64_t tick_ = 0;
  int reported_ = 0;
  bool closed_ = false;
  std::uint64_t priced_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int ticks = 2 + static_cast<int>(seconds * 750);
  Board board(threads);
  std::vector<double> values(threads);
  std::vector<std::thread> traders;
  for (int t = 0; t < threads; ++t) {
    traders.emplace_back([&, t] {
      std::uint64_t seen = 0;
      double value = 0;
      while (board.price_share(t, seen, value)) {
      }
      values[t] = value;
    });
  }
  for (int tick = 0; tick < ticks; ++tick) board.publish(80.0 + tick % 40);
  board.close();
  for (std::thread& each : traders) each.join();
  double value = 0;
  for (const double each : values) value += each;
  std::printf("%llu prices, mean %.2f\n", static_cast<unsigned long long>(board.priced()),
              value / static_cast<double>(board.priced()));
  return board.priced() == static_cast<std::uint64_t>(ticks) * instruments ? 0 : 1;
}
