// Checks the words of texts with a dictionary that is a process of its own behind pipes.
//
// category: io
// certain: yes
// why: Each thread waits in a read of its pipe for the one process that answers them all.

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 89740331;

struct Line {
  int ask[2];
  int answer[2];
};

std::vector<Line> lines;

[[noreturn]] void run_dictionary() {
  std::vector<pollfd> asked;
  for (const Line& line : lines) {
    close(line.ask[1]);
    asked.push_back({line.ask[0], POLLIN, 0});
  }
  for (std::size_t open = lines.size(); open > 0;) {
    poll(asked.data(), asked.size(), -1);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (asked[i].revents == 0) continue;
      std::uint64_t word = 0;
      if (read(asked[i].fd, &word, sizeof word) == sizeof word) {
        for (int k = 0; k < 30'000; ++k) word = (word ^ (word >> 7)) * 0x9e3779b97f4a7c15ULL;
        word >>= 40;
        if (write(lines[i].answer[1], &word, sizeof word) < 0) _exit(1);
      } else {
        asked[i].fd = -1;
        --open;
      }
    }
  }
  _exit(0);
}

[[gnu::noinline]] std::uint64_t look_up(const Line& line, std::uint64_t word) {
  if (write(line.ask[1], &word, sizeof word) != sizeof word) return 0;
  if (read(line.answer[0], &word, sizeof word) != sizeof word) return 0;
  return word;
}

[[gnu::noinline]] void check_words(int first, int step, int rounds, std::uint64_t& result) {
  std::uint64_t sum = 0;
  for (int round = first; round < rounds; round += step) {
    for (std::uint64_t word = 1; word <= 10; ++word) sum += look_up(lines[first], word);
  }
  close(lines[first].ask[1]);
  result = sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 2'300);
  lines.resize(threads);
  for (Line& line : lines) {
    if (pipe(line.ask) != 0 || pipe(line.answer) != 0) return 2;
  }
  const pid_t dictionary = fork();
  if (dictionary == 0) run_dictionary();
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back(check_words, t, threads, rounds, std::ref(results[t]));
  }
  for (std::thread& each : workers) each.join();
  waitpid(dictionary, nullptr, 0);
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
