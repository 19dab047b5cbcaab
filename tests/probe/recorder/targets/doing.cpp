// A thread for each word: the word is the reason for which it leaves its processor or enters the
// kernel. At its end each thread prints its word, its id and the number of its switches.
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
std::FILE* file;
std::atomic<bool> kept = false;
int ends[2];

bool lasts(Clock::time_point begin) { return Clock::now() - begin < std::chrono::seconds(1); }

void stay_on(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) std::perror("sched_setaffinity");
}

int first_cpu() {
  cpu_set_t all;
  sched_getaffinity(0, sizeof all, &all);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &all)) return cpu;
  }
  return 0;
}

}  // namespace

// A stream takes its lock by a system call in the library itself.
[[gnu::noinline]] void keep_stream(Clock::time_point begin) {
  for (int round = 0; round < 3000 || lasts(begin); ++round) {
    flockfile(file);
    usleep(50);
    funlockfile(file);
    usleep(10);
  }
  kept = true;
}
[[gnu::noinline]] void use_stream() {
  while (!kept) std::fputc('x', file);
}
[[gnu::noinline]] void give_way(Clock::time_point begin) {
  stay_on(first_cpu());
  while (lasts(begin)) sched_yield();
}
[[gnu::noinline]] void compute(Clock::time_point begin) {
  stay_on(first_cpu());
  while (lasts(begin)) {
  }
}
[[gnu::noinline]] void touch(Clock::time_point begin) {
  constexpr std::size_t kBytes = std::size_t{4} << 20;
  while (lasts(begin)) {
    auto* fresh = static_cast<char*>(
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (std::size_t at = 0; at < kBytes; at += 4096) fresh[at] = 1;
    munmap(fresh, kBytes);
  }
}
[[gnu::noinline]] void copy(Clock::time_point begin) {
  std::vector<char> bytes(std::size_t{1} << 20);
  std::FILE* zeros = std::fopen("/dev/zero", "r");
  while (lasts(begin) && read(fileno(zeros), bytes.data(), bytes.size()) > 0) {
  }
}
[[gnu::noinline]] void wait_for_byte() {
  char byte = 0;
  for (int round = 0; round < 20; ++round) {
    if (read(ends[0], &byte, 1) != 1) return;
  }
}
[[gnu::noinline]] void take_bytes() {
  for (char byte = 0; byte != 'e' && read(ends[0], &byte, 1) == 1;) {
  }
}
[[gnu::noinline]] void send_bytes() {
  for (int round = 0; round < 10000; ++round) {
    if (write(ends[1], round < 9999 ? "x" : "e", 1) != 1) return;
    usleep(20);
  }
}
[[gnu::noinline]] void wait_in_poll() {
  int silent[2];
  if (pipe(silent) != 0) return;
  pollfd input{silent[0], POLLIN, 0};
  for (int round = 0; round < 20; ++round) poll(&input, 1, 20);
}
[[gnu::noinline]] void sleep_in_poll() {
  for (int round = 0; round < 20; ++round) poll(nullptr, 0, 20);
}
[[gnu::noinline]] void sleep_in_select() {
  for (int round = 0; round < 20; ++round) {
    timeval time{0, 20'000};
    select(0, nullptr, nullptr, nullptr, &time);
  }
}

int main(int, char** words) {
  const auto begin = Clock::now();
  file = std::fopen("/dev/null", "w");
  if (file == nullptr || pipe(ends) != 0) return 1;
  std::vector<std::thread> threads;
  for (char** each = words + 1; *each != nullptr; ++each) {
    threads.emplace_back([begin, word = std::string_view(*each)] {
      if (word == "keep_stream") keep_stream(begin);
      if (word == "use_stream") use_stream();
      if (word == "give_way") give_way(begin);
      if (word == "compute") compute(begin);
      if (word == "touch") touch(begin);
      if (word == "copy") copy(begin);
      if (word == "wait_for_byte") wait_for_byte();
      if (word == "take_bytes") take_bytes();
      if (word == "send_bytes") send_bytes();
      if (word == "wait_in_poll") wait_in_poll();
      if (word == "sleep_in_poll") sleep_in_poll();
      if (word == "sleep_in_select") sleep_in_select();
      if (word == "stay") {
        usleep(30'000);  // later than the first looks of the recorder
        stay_on(first_cpu());
        usleep(200'000);
      }
      rusage used{};
      getrusage(RUSAGE_THREAD, &used);
      std::printf("%s %d %ld\n", word.data(), gettid(), used.ru_nvcsw + used.ru_nivcsw);
    });
    if (std::strcmp(*each, "wait_for_byte") != 0) continue;
    for (int round = 0; round < 20; ++round) {
      usleep(20'000);
      if (write(ends[1], "x", 1) != 1) return 1;
    }
  }
  for (std::thread& thread : threads) thread.join();
}
