// Short parallel regions and fine recursions, for the bars: figures as one JSON line.
//   regions back US        two halves of so many us, one region after the other: serial time /
//                          parallel time
//   regions idle US        the same after 20 ms of idle, and the processor time burnt after a
//   region regions fib FORM N     milliseconds of one recursion
#include <unistd.h>
#include <tmk/async.hpp>
#include <tmk/detail/thread_usage.hpp>
#include <tmk/fork_join.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "../instructions/fib.hpp"

namespace {

using Clock = std::chrono::steady_clock;

double us_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}
void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// A chain of multiplications, which nothing but the processor's clock makes longer or shorter.
[[gnu::noinline]] void work(std::uint64_t steps) {
  std::uint64_t state = steps;
  for (; steps != 0; --steps) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    asm volatile("" : "+r"(state));
  }
}
std::uint64_t steps_of_us(double us) {
  constexpr std::uint64_t kSteps = 200'000;
  std::vector<double> found;
  for (int i = 0; i < 15; ++i) {
    const auto start = Clock::now();
    work(kSteps);
    found.push_back(us_since(start));
  }
  return static_cast<std::uint64_t>(kSteps * us / median(found));
}

struct Serial {
  void operator()(std::uint64_t steps) const {
    work(steps);
    work(steps);
  }
};
struct ForkJoin {
  void operator()(std::uint64_t steps) const {
    tmk::fork_join([&] { work(steps); }, [&] { work(steps); });
  }
};
struct Async {
  void operator()(std::uint64_t steps) const {
    auto other = tmk::async([&] { work(steps); });
    work(steps);
    other.get();
  }
};
// Two threads that only spin, as a measure of the machine.
class Spinners {
 public:
  Spinners() : other_([this] { run(); }) {}
  ~Spinners() {
    given_.store(kEnd);
    other_.join();
  }
  void operator()(std::uint64_t steps) {
    given_.store(steps);
    work(steps);
    while (given_.load() != 0) {
    }
  }

 private:
  static constexpr std::uint64_t kEnd = UINT64_MAX;
  void run() {
    for (;;) {
      const std::uint64_t steps = given_.load();
      if (steps == kEnd) return;
      if (steps == 0) continue;
      work(steps);
      given_.store(0);
    }
  }
  std::atomic<std::uint64_t> given_{0};
  std::thread other_;
};

// The time of one region when regions follow one another for some milliseconds.
template <class F>
double back_to_back_us(F&& region, std::uint64_t steps, double us) {
  const int count = static_cast<int>(5'000 / us);
  for (int i = 0; i < count / 4; ++i) region(steps);  // until the threads are awake
  const auto start = Clock::now();
  for (int i = 0; i < count; ++i) region(steps);
  return us_since(start) / count;
}
template <class F>
double after_idle_us(F&& region, std::uint64_t steps) {
  sleep_ms(20);
  const auto start = Clock::now();
  region(steps);
  return us_since(start);
}

// Processor time of all threads but this one, from the clock of each thread. The clock of the
// process counts a thread on another processor only up to the kernel's last tick, which is up to 10
// ms ago.
double others_ms() {
  double sum = 0;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/task")) {
    const pid_t thread = std::stoi(each.path().filename().string());
    if (thread != gettid()) sum += 1e-6 * static_cast<double>(tmk::detail::cpu_ns(thread));
  }
  return sum;
}

// Processor time of the other threads after a region, in the first 20 ms, and in the next 20 ms.
struct Burnt {
  std::vector<double> soon, later;
  void measure(std::uint64_t steps) {
    ForkJoin()(steps);
    const double end = others_ms();
    sleep_ms(20);
    const double then = others_ms();
    sleep_ms(20);
    soon.push_back(then - end);
    later.push_back(others_ms() - then);
  }
};

void print(const char* name, double figure, const char* end) {
  std::printf("\"%s\":%.4f%s", name, figure, end);
}
void print_back_to_back(double us) {
  const std::uint64_t steps = steps_of_us(us);
  std::vector<double> fork_join, async, limit;
  for (int turn = 0; turn < 15; ++turn) {
    const double serial = back_to_back_us(Serial(), steps, us);
    fork_join.push_back(serial / back_to_back_us(ForkJoin(), steps, us));
    async.push_back(serial / back_to_back_us(Async(), steps, us));
    limit.push_back(serial / back_to_back_us(Spinners(), steps, us));
  }
  print("fork_join", median(fork_join), ",");
  print("async", median(async), ",");
  print("two spinning threads", median(limit), "");
}
void print_after_idle(double us) {
  const std::uint64_t steps = steps_of_us(us);
  std::vector<double> serial, fork_join, async;
  Burnt burnt;
  for (int turn = 0; turn < 25; ++turn) {
    serial.push_back(after_idle_us(Serial(), steps));
    fork_join.push_back(after_idle_us(ForkJoin(), steps));
    async.push_back(after_idle_us(Async(), steps));
    burnt.measure(steps);
  }
  print("fork_join", median(serial) / median(fork_join), ",");
  print("async", median(serial) / median(async), ",");
  print("burnt", median(burnt.soon), ",");
  print("burnt later", median(burnt.later), "");
}
// It runs for at least a third of a second, so that others' use of the processors is visible.
bool print_fib(fib::Form form, int n) {
  const long value = form(n);
  const auto start = Clock::now();
  std::vector<double> each;
  while (each.size() < 3 || us_since(start) < 333e3) {
    const auto begun = Clock::now();
    if (form(n) != value) return false;
    each.push_back(us_since(begun) / 1e3);
  }
  print("ms", median(each), "");
  return true;
}

}  // namespace

int main(int count, char** words) {
  const std::string_view what = count > 2 ? words[1] : "";
  const fib::Form form = what == "fib" && count == 4 ? fib::form(words[2]) : nullptr;
  const int number = std::atoi(count > 2 ? words[count - 1] : "");
  if (number < 2 || (form == nullptr && (count != 3 || (what != "back" && what != "idle")))) {
    std::fprintf(stderr, "usage: regions back US | idle US | fib serial|async|fork|scope N\n");
    return 2;
  }
  std::printf("{");
  bool good = true;
  if (form != nullptr) {
    good = print_fib(form, number);
  } else if (what == "back") {
    print_back_to_back(number);
  } else {
    print_after_idle(number);
  }
  std::printf("}\n");
  return good ? 0 : 1;
}
