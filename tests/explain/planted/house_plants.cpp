// Waters plants by a crowd of threads that take little jobs from one queue of closures.
//
// category: mutex
// name: jobs_mutex_ | Crew
// made: main | water
// certain: yes
// why: The jobs are so small that their queue's lock, which each push and pop takes, is the work.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr std::uint64_t expected = 40;

class Crew {
 public:
  explicit Crew(int size) {
    for (int i = 0; i < size; ++i) members_.emplace_back([this] { run(); });
  }
  void add(std::function<void()> job) {
    {
      const std::lock_guard lock(jobs_mutex_);
      jobs_.push_back(std::move(job));
    }
    job_added_.notify_one();
  }
  void finish() {
    {
      const std::lock_guard lock(jobs_mutex_);
      over_ = true;
    }
    job_added_.notify_all();
    for (std::thread& each : members_) each.join();
  }

 private:
  void run() {
    while (true) {
      std::unique_lock lock(jobs_mutex_);
      job_added_.wait(lock, [this] { return over_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      const std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
    }
  }
  std::mutex jobs_mutex_;
  std::condition_variable job_added_;
  std::deque<std::function<void()>> jobs_;
  bool over_ = false;
  std::vector<std::thread> members_;
};

struct alignas(128) Plant {
  std::atomic<std::uint32_t> water{0};
};

// A plant that was watered asks for the next one, until all plants have had their rounds.
void water(Crew& crew, Plant& plant, std::uint32_t rounds) {
  std::uint32_t drops = plant.water + 1;
  plant.water = drops;
  if (drops < rounds) crew.add([&crew, &plant, rounds] { water(crew, plant, rounds); });
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const std::uint32_t rounds = 2 + static_cast<std::uint32_t>(seconds * 90'000);
  std::vector<Plant> plants(40);
  Crew crew(threads);
  for (Plant& each : plants) crew.add([&] { water(crew, each, rounds); });
  while (plants.back().water < rounds) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  crew.finish();
  std::uint64_t total = 0;
  for (const Plant& each : plants) total += each.water;
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
