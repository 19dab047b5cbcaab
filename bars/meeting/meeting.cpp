// Tasks that wait for each other without the runtime's knowledge: prints the seconds until all have
// met.
//   meeting latch|condition|poll TASKS
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <latch>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#ifdef MEET_WITH_TMK
#include "tmk/async.hpp"
namespace subject = tmk;
#else
#include <future>
namespace subject = std;
#endif

namespace {

template <class F>
double seconds_until_all_have(int tasks, const F& met) {
  const auto begun = std::chrono::steady_clock::now();
  std::vector<subject::future<void>> futures;
  for (int i = 0; i < tasks; ++i) {
    futures.push_back(subject::async(subject::launch::async, met));
  }
  for (auto& each : futures) each.get();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

double meet(std::string_view how, int tasks) {
  if (how == "latch") {
    std::latch all(tasks);
    return seconds_until_all_have(tasks, [&] { all.arrive_and_wait(); });
  }
  int here = 0;
  std::mutex mutex;
  if (how == "condition") {
    std::condition_variable all;
    return seconds_until_all_have(tasks, [&] {
      std::unique_lock guard(mutex);
      if (++here == tasks) all.notify_all();
      all.wait(guard, [&] { return here == tasks; });
    });
  }
  return seconds_until_all_have(tasks, [&] {
    std::unique_lock guard(mutex);
    ++here;
    while (here < tasks) {
      guard.unlock();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      guard.lock();
    }
  });
}

}  // namespace

int main(int count, char** words) {
  const std::string_view how = count > 1 ? words[1] : "", number = count > 2 ? words[2] : "";
  int tasks = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), tasks);
  const bool known = how == "latch" || how == "condition" || how == "poll";
  if (!known || error != std::errc() || end != number.data() + number.size() || tasks < 1) {
    std::fprintf(stderr, "usage: meeting latch|condition|poll TASKS\n");
    return 2;
  }
  std::printf("%.6f\n", meet(how, tasks));
}
