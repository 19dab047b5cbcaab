// Makes thumbnails: one thread reads pictures, the others make them small.
//
// category: serial_dependency | imbalance
// certain: yes
// why: The one that reads takes ten times as long for a picture as those that make it small.

#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <numeric>
#include <queue>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 3664415;
using Picture = std::vector<std::uint8_t>;

std::mutex queue_mutex;
std::condition_variable picture_there;
std::queue<Picture> pictures;
bool finished = false;

[[gnu::noinline]] Picture read_picture(std::uint32_t number) {
  Picture made(4096);
  std::uint32_t state = number % 7 + 1;
  for (std::uint8_t& pixel : made) {
    for (int i = 0; i < 48; ++i) state = (state ^ (state >> 7)) * 0x9e3779b1U;
    pixel = static_cast<std::uint8_t>(state >> 24);
  }
  return made;
}

[[gnu::noinline]] std::uint64_t make_small(const Picture& picture) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i + 1 < picture.size(); i += 2) sum += picture[i] + picture[i + 1];
  return sum;
}

[[gnu::noinline]] void shrink(std::uint64_t& result) {
  std::uint64_t sum = 0;
  while (true) {
    std::unique_lock<std::mutex> lock(queue_mutex);
    picture_there.wait(lock, [] { return !pictures.empty() || finished; });
    if (pictures.empty()) break;
    const Picture picture = std::move(pictures.front());
    pictures.pop();
    lock.unlock();
    sum += make_small(picture);
  }
  result = sum;
}

[[gnu::noinline]] void read_all(int count) {
  for (int i = 0; i < count; ++i) {
    Picture picture = read_picture(i);
    const std::lock_guard<std::mutex> lock(queue_mutex);
    pictures.push(std::move(picture));
    picture_there.notify_one();
  }
  const std::lock_guard<std::mutex> lock(queue_mutex);
  finished = true;
  picture_there.notify_all();
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 700);
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) workers.emplace_back(shrink, std::ref(results[t]));
  read_all(7 * rounds);
  for (std::thread& each : workers) each.join();
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
