// Asks a measuring device, a process of its own behind two pipes, for values.
//
// category: mutex
// name: device_mutex | Device
// holder: read < Device::ask < collect
// certain: yes
// why: The lock of the device is held while its answer is awaited in a read of the pipe.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 59980062;

class Device {
 public:
  Device() {
    if (pipe(to_) != 0 || pipe(from_) != 0) std::exit(2);
    child_ = fork();
    if (child_ == 0) run();
    close(to_[0]);
    close(from_[1]);
  }
  ~Device() {
    close(to_[1]);
    waitpid(child_, nullptr, 0);
  }
  [[gnu::noinline]] std::uint64_t ask(std::uint64_t channel) {
    const std::lock_guard<std::mutex> lock(device_mutex_);
    std::uint64_t value = 0;
    if (write(to_[1], &channel, sizeof channel) != sizeof channel) return 0;
    if (read(from_[0], &value, sizeof value) != sizeof value) return 0;
    return value;
  }

 private:
  [[noreturn]] void run() {
    close(to_[1]);
    close(from_[0]);
    std::uint64_t channel = 0;
    while (read(to_[0], &channel, sizeof channel) == sizeof channel) {
      for (int i = 0; i < 60'000; ++i) channel = (channel ^ (channel >> 7)) * 0x9e3779b97f4a7c15ULL;
      channel >>= 40;
      if (write(from_[1], &channel, sizeof channel) < 0) break;
    }
    _exit(0);
  }
  std::mutex device_mutex_;
  int to_[2]{};
  int from_[2]{};
  pid_t child_ = 0;
};

[[gnu::noinline]] void collect(Device& device, int first, int step, int rounds,
                               std::uint64_t& values) {
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) {
    for (std::uint64_t channel = 1; channel <= 8; ++channel) sum += device.ask(channel);
  }
  values = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 950);
  Device device;
  std::vector<std::uint64_t> values(threads);
  std::vector<std::thread> collectors;
  for (int t = 0; t < threads; ++t) {
    collectors.emplace_back(collect, std::ref(device), t, threads, rounds, std::ref(values[t]));
  }
  for (std::thread& each : collectors) each.join();
  const std::uint64_t total = std::accumulate(values.begin(), values.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
