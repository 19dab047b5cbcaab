// Stations of a ring that pass a token on; each may send when the token is its own.
//
// category: condition
// name: token_moved
// certain: yes
// why: Each step wakes all stations by one condition variable, and all but one sleep again.

#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 100;

std::mutex ring_mutex;
#ifdef WITHOUT_CAUSE
std::deque<std::condition_variable> token_moved;  // one for each station
#else
std::condition_variable token_moved;
#endif
int owner = 0;
std::uint64_t sent = 0;

[[gnu::noinline]] void send(int station, int stations) {
  std::unique_lock<std::mutex> lock(ring_mutex);
#ifdef WITHOUT_CAUSE
  while (owner != station) token_moved[station].wait(lock);
#else
  while (owner != station) token_moved.wait(lock);
#endif
  sent += static_cast<std::uint64_t>(station) + 1;
  const int next = (station + 1) % stations;
  owner = next;
  lock.unlock();
#ifdef WITHOUT_CAUSE
  token_moved[next].notify_one();
#else
  token_moved.notify_all();
#endif
}

[[gnu::noinline]] void run_station(int station, int stations, int rounds) {
  for (int round = 0; round < rounds; ++round) send(station, stations);
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int stations = 8 * threads;
  const int rounds = 2 + static_cast<int>(seconds * 1'400);
#ifdef WITHOUT_CAUSE
  token_moved.resize(stations);
#endif
  std::vector<std::thread> ring;
  for (int t = 0; t < stations; ++t) ring.emplace_back(run_station, t, stations, rounds);
  for (std::thread& each : ring) each.join();
  const std::uint64_t each_round = stations * (stations + 1ULL) / 2;
  const std::uint64_t complete = sent / each_round * 100 / rounds;
  std::printf("checksum %llu\n", static_cast<unsigned long long>(complete));
  return sent == each_round * rounds && complete == expected ? 0 : 1;
}
