// A relay of runners: the baton goes round, and each runner adds his stride to the time on it.
//
// category: condition | serial_dependency
// name: baton_came_ | run | Runner
// certain: any
// why: A runner works for less than a microsecond and then waits to be woken by the one before him.

#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 31587;
constexpr int legs_per_lap = 60;

class Runner {
 public:
  void hand(std::uint64_t time) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      time_ = time;
      has_baton_ = true;
    }
    baton_came_.notify_one();
  }

  std::uint64_t take() {
    std::unique_lock<std::mutex> lock(mutex_);
    baton_came_.wait(lock, [this] { return has_baton_; });
    has_baton_ = false;
    return time_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable baton_came_;
  bool has_baton_ = false;
  std::uint64_t time_ = 0;
};

using Team = std::vector<std::unique_ptr<Runner>>;

[[gnu::noinline]] std::uint64_t stride(std::uint32_t leg) {
  std::uint32_t step = leg + 1;
  for (int i = 0; i < 60; ++i) step = (step ^ (step >> 11)) * 0x9e3779b1U;
  return step >> 22;
}

// The baton of leg n is carried by runner n modulo their number.
[[gnu::noinline]] void run(Team& team, std::uint32_t me, std::uint32_t legs) {
  for (std::uint32_t leg = me; leg < legs; leg += team.size()) {
    const std::uint64_t time = team[me]->take() + stride(leg % legs_per_lap);
    team[(leg + 1) % team.size()]->hand(time);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const std::uint32_t laps = 2 + static_cast<std::uint32_t>(seconds * 850);
  const std::uint32_t legs = laps * legs_per_lap;
  Team team;
  for (int t = 0; t < threads; ++t) team.push_back(std::make_unique<Runner>());
  std::vector<std::thread> runners;
  for (int t = 0; t < threads; ++t) runners.emplace_back(run, std::ref(team), t, legs);
  team[0]->hand(0);
  for (std::thread& each : runners) each.join();
  const std::uint64_t total = team[legs % team.size()]->take();
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / laps));
  return total == expected * laps ? 0 : 1;
}
