// Handles requests and keeps a log of them that must survive a crash.
//
// category: mutex
// name: log_mutex
// holder: fsync|fdatasync|write < append_record < handle
// certain: yes
// why: Each record is written and synchronised with the disk under the lock of the log.

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 20090;
constexpr int kinds = 5;

std::mutex log_mutex;
int log_file = -1;

[[gnu::noinline]] std::uint64_t append_record(const std::string& text) {
  const std::lock_guard<std::mutex> lock(log_mutex);
  const ssize_t written = write(log_file, text.data(), text.size());
  if (fsync(log_file) != 0) return 0;
  return static_cast<std::uint64_t>(written);
}

[[gnu::noinline]] void handle(int first, int step, int rounds, std::uint64_t& logged) {
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) {
    for (int kind = 0; kind < kinds; ++kind) {
      sum +=
          append_record("request of kind " + std::to_string(kind) + std::string(4000, '.') + "\n");
    }
  }
  logged = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 300);
  std::string path = std::filesystem::temp_directory_path() / "requests.XXXXXX";
  log_file = mkstemp(path.data());
  if (log_file < 0) return 2;
  unlink(path.c_str());
  std::vector<std::uint64_t> logged(threads);
  std::vector<std::thread> handlers;
  for (int t = 0; t < threads; ++t) {
    handlers.emplace_back(handle, t, threads, rounds, std::ref(logged[t]));
  }
  for (std::thread& each : handlers) each.join();
  close(log_file);
  const std::uint64_t total = std::accumulate(logged.begin(), logged.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
