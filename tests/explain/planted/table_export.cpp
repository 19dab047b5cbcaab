// Exports tables as text, each thread tables of its own into a file of its own.
//
// category: io
// certain: yes
// why: Each line of a table is a write of its own to a file.

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 3890;

[[gnu::noinline]] std::uint64_t write_row(int file, std::uint32_t row) {
  char line[32];
  int length = 0;
  for (std::uint32_t rest = row; rest != 0 || length == 0; rest /= 10) {
    line[length++] = static_cast<char>('0' + rest % 10);
  }
  line[length++] = '\n';
#ifdef WITHOUT_CAUSE
  thread_local std::string rows;
  rows.append(line, length);
  if (rows.size() > 1U << 20) {
    if (write(file, rows.data(), rows.size()) < 0) return 0;
    rows.clear();
  }
  return length;
#else
  return static_cast<std::uint64_t>(write(file, line, length));
#endif
}

[[gnu::noinline]] void export_tables(int first, int step, int rounds, std::uint64_t& written) {
  std::string path = std::filesystem::temp_directory_path() / "table.XXXXXX";
  const int file = mkstemp(path.data());
  unlink(path.c_str());
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) {
    for (std::uint32_t row = 0; row < 1000; ++row) sum += write_row(file, row);
    if (round % 64 == 0 && lseek(file, 0, SEEK_SET) != 0) break;
  }
  close(file);
  written = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 3'600);
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back(export_tables, t, threads, rounds, std::ref(results[t]));
  }
  for (std::thread& each : workers) each.join();
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
