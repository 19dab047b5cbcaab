// Threads that share a mutex: COUNT of them, each ROUNDS times for about WORK microseconds.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

std::mutex shared_lock;
long shared_sum;

[[gnu::noinline]] void hold(std::chrono::microseconds work) {
  const std::lock_guard<std::mutex> held(shared_lock);
  const auto until = std::chrono::steady_clock::now() + work;
  while (std::chrono::steady_clock::now() < until) ++shared_sum;
}

int main(int, char** words) {
  std::vector<std::thread> threads;
  for (int i = 0; i < std::atoi(words[1]); ++i) {
    threads.emplace_back([rounds = std::atoi(words[2]), work = std::atoi(words[3])] {
      for (int round = 0; round < rounds; ++round) hold(std::chrono::microseconds(work));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::puts("done");
}
