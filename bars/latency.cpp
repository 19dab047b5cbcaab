// The cost of being idle, and of starting again: figures for the bars, as one JSON line. A bare
// futex wake takes turns with the first task after idle, so that both see the same machine.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <tmk/async.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double us_between(Clock::time_point start, Clock::time_point end) {
  return std::chrono::duration<double, std::micro>(end - start).count();
}
double cpu_ms(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}
// The processor time of all threads but this one.
double others_ms() { return cpu_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu_ms(CLOCK_THREAD_CPUTIME_ID); }
void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// A thread that sleeps on a futex and notes the time of its wake-up.
class Sleeper {
 public:
  Sleeper() : thread_([this] { run(); }) {}
  ~Sleeper() {
    wake(2);
    thread_.join();
  }
  double wake_us() {
    woken_.store(false);
    const auto start = Clock::now();
    wake(1);
    while (!woken_.load()) {
    }
    return us_between(start, began_);
  }

 private:
  void wake(std::uint32_t what) {
    word_.store(what);
    syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }
  void run() {
    for (;;) {
      while (word_.load() == 0) {
        syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
      }
      began_ = Clock::now();
      if (word_.exchange(0) == 2) return;
      woken_.store(true);
    }
  }
  std::atomic<std::uint32_t> word_{0};
  std::atomic<bool> woken_{false};
  Clock::time_point began_;
  std::thread thread_;
};

// The time until a task that no thread waits for runs on another thread. Both latencies end when
// the woken thread reads the clock: the system may put that thread on the waker's processor, and
// then the waker notices it only after its next sleep.
double first_task_us() {
  std::atomic<bool> ran{false};
  Clock::time_point began;
  const auto start = Clock::now();
  const auto task = tmk::async([&] {
    began = Clock::now();
    ran.store(true);
  });
  while (!ran.load()) {
  }
  return us_between(start, began);
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

// The processor time while there is no work, after the 20 ms in which threads may still look
// around.
double idle_cpu_ms() {
  sleep_ms(20);
  const double before = others_ms();
  sleep_ms(30);
  return others_ms() - before;
}

}  // namespace

int main() {
  constexpr int kRounds = 60;
  std::vector<double> bare, first, idle;
  Sleeper sleeper;
  first_task_us();
  for (int round = 0; round < kRounds; ++round) {
    sleep_ms(30);
    bare.push_back(sleeper.wake_us());
    sleep_ms(30);
    first.push_back(first_task_us());
    idle.push_back(idle_cpu_ms());
  }
  std::printf(
      "{\"bare_us\":%.2f,\"bare_p90_us\":%.2f,\"first_us\":%.2f,\"first_p90_us\":%.2f,"
      "\"idle_cpu_ms_per_s\":%.4f}\n",
      quantile(bare, 0.5), quantile(bare, 0.9), quantile(first, 0.5), quantile(first, 0.9),
      std::max(0.0, quantile(idle, 0.5)) / 0.030);  // the two clocks are read one after the other
}
