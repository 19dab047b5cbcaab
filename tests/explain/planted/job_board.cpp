// A board on which jobs are hung up in batches; workers take them from it.
//
// category: mutex
// name: board_mutex
// holder: take_job < work
// certain: yes
// why: Workers do their job before they give the board's lock back, so each that was woken queues.

#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t expected = 121572424;
constexpr int batch = 16;

std::mutex board_mutex;
std::condition_variable job_there;
std::condition_variable all_done;
std::deque<std::uint64_t> jobs;
int open_jobs = 0;
bool closed = false;

[[gnu::noinline]] bool take_job(std::uint64_t& result) {
  std::unique_lock<std::mutex> lock(board_mutex);
  job_there.wait(lock, [] { return !jobs.empty() || closed; });
  if (jobs.empty()) return false;
  std::uint64_t value = jobs.front();
  jobs.pop_front();
#ifdef WITHOUT_CAUSE
  lock.unlock();
#endif
  for (int i = 0; i < 8'000; ++i) value = (value ^ (value >> 7)) * 0x9e3779b97f4a7c15ULL;
  result += value >> 40;
#ifdef WITHOUT_CAUSE
  lock.lock();
#endif
  if (--open_jobs == 0) all_done.notify_one();
  return true;
}

[[gnu::noinline]] void work(std::uint64_t& result) {
  std::uint64_t sum = 0;
  while (take_job(sum)) {
  }
  result = sum;
}

[[gnu::noinline]] void hang_up_batches(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    std::unique_lock<std::mutex> lock(board_mutex);
    for (std::uint64_t i = 1; i <= batch; ++i) jobs.push_back(i);
    open_jobs = batch;
    job_there.notify_all();
    all_done.wait(lock, [] { return open_jobs == 0; });
  }
  const std::lock_guard<std::mutex> lock(board_mutex);
  closed = true;
  job_there.notify_all();
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int rounds = 2 + static_cast<int>(seconds * 4'500);
  std::vector<std::uint64_t> results(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) workers.emplace_back(work, std::ref(results[t]));
  hang_up_batches(rounds);
  for (std::thread& each : workers) each.join();
  const std::uint64_t total = std::accumulate(results.begin(), results.end(), std::uint64_t{0});
  std::printf("checksum %llu\n", static_cast<unsigned long long>(total / rounds));
  return total == expected * rounds ? 0 : 1;
}
