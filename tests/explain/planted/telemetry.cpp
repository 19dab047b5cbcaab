// Sensors send readings through a queue of limited length to one thread that condenses them.
//
// category: serial_dependency | imbalance
// certain: yes
// why: The one consumer needs far longer for a reading than the sensors, who wait for a free place.

#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 277980503;
constexpr std::size_t places = 16;
constexpr int readings = 32;

std::mutex queue_mutex;
std::condition_variable reading_there;
std::condition_variable place_free;
std::deque<std::uint64_t> queue;

[[gnu::noinline]] std::uint64_t condense(std::uint64_t reading) {
  for (int i = 0; i < 40'000; ++i) reading = (reading ^ (reading >> 7)) * 0x9e3779b97f4a7c15ULL;
  return reading >> 40;
}

[[gnu::noinline]] void put(std::uint64_t reading) {
  std::unique_lock<std::mutex> lock(queue_mutex);
  place_free.wait(lock, [] { return queue.size() < places; });
  queue.push_back(reading);
  lock.unlock();
  reading_there.notify_one();
}

[[gnu::noinline]] std::uint64_t get() {
  std::unique_lock<std::mutex> lock(queue_mutex);
  reading_there.wait(lock, [] { return !queue.empty(); });
  const std::uint64_t reading = queue.front();
  queue.pop_front();
  lock.unlock();
  place_free.notify_one();
  return reading;
}

[[gnu::noinline]] void sense(int first, int step, int rounds) {
  for (int round = first; round < rounds; round += step) {
    for (std::uint64_t reading = 1; reading <= readings; ++reading) put(reading);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 500);
  std::vector<std::thread> sensors;
  for (int t = 0; t < threads; ++t) sensors.emplace_back(sense, t, threads, rounds);
  std::uint64_t total = 0;
  for (int i = 0; i < rounds * readings; ++i) total += condense(get());
  for (std::thread& each : sensors) each.join();
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
