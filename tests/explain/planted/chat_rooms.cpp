// A chat server: one thread per room waits for messages, which a few front ends deliver.
//
// category: condition
// name: arrived | Exchange
// made: await | main
// certain: yes
// why: Each message wakes the threads of all rooms, of which one has something to do.

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <queue>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int rooms = 20;

class Exchange {
 public:
  void post(int room, std::string text) {
    {
      const std::lock_guard lock(mutex_);
      boxes_[room].push(std::move(text));
    }
#ifdef WITHOUT_CAUSE
    arrived_[room].notify_one();
#else
    arrived_[0].notify_all();
#endif
  }

  std::optional<std::string> await(int room) {
    std::unique_lock lock(mutex_);
#ifdef WITHOUT_CAUSE
    std::condition_variable& arrived = arrived_[room];
#else
    std::condition_variable& arrived = arrived_[0];
#endif
    arrived.wait(lock, [&] { return closed_ || !boxes_[room].empty(); });
    if (boxes_[room].empty()) return std::nullopt;
    std::string text = std::move(boxes_[room].front());
    boxes_[room].pop();
    return text;
  }

  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    for (std::condition_variable& each : arrived_) each.notify_all();
  }

 private:
  std::mutex mutex_;
  std::array<std::condition_variable, rooms> arrived_;
  std::array<std::queue<std::string>, rooms> boxes_;
  bool closed_ = false;
};

std::uint64_t filter(const std::string& text) {
  std::uint64_t hash = 1469598103934665603ULL;
  for (int pass = 0; pass < 120; ++pass) {
    for (const char each : text)
      hash = (hash ^ static_cast<unsigned char>(each)) * 1099511628211ULL;
  }
  return hash;
}

struct Room {
  int number;
  std::uint64_t handled = 0;
  std::uint64_t digest = 0;

  void serve(Exchange& exchange, std::counting_semaphore<>& answered) {
    while (const std::optional<std::string> text = exchange.await(number)) {
      digest ^= filter(*text);
      ++handled;
      answered.release();
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int messages = 8 + static_cast<int>(seconds * 15'000);
  Exchange exchange;
  std::counting_semaphore<> answered(4 * threads);  // so many messages are under way at most
  std::vector<Room> all;
  for (int room = 0; room < rooms; ++room) all.push_back({room});
  std::vector<std::thread> servers;
  for (Room& room : all) servers.emplace_back([&] { room.serve(exchange, answered); });
  std::vector<std::thread> front_ends;
  std::atomic<int> next{0};
  for (int t = 0; t < threads; ++t) {
    front_ends.emplace_back([&] {
      for (int i = next++; i < messages; i = next++) {
        answered.acquire();
        exchange.post(i * 7 % rooms, "message " + std::to_string(i) + " to all who are here");
      }
    });
  }
  for (std::thread& each : front_ends) each.join();
  exchange.close();
  for (std::thread& each : servers) each.join();
  std::uint64_t handled = 0;
  for (const Room& room : all) handled += room.handled;
  std::printf("%llu messages\n", static_cast<unsigned long long>(handled));
  return handled == static_cast<std::uint64_t>(messages) ? 0 : 1;
}
