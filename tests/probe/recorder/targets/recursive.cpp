// Two threads take a recursive mutex ROUNDS times, and 20 more times while they have it.
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

std::recursive_mutex again;
long sum;

[[gnu::noinline]] void take(int depth) {
  const std::lock_guard<std::recursive_mutex> held(again);
  for (int i = 0; i < 100; ++i) {
    sum += i;
    asm volatile("" ::: "memory");
  }
  if (depth > 0) take(depth - 1);
}

int main(int, char** words) {
  const auto run = [rounds = std::atoi(words[1])] {
    for (int round = 0; round < rounds; ++round) take(20);
  };
  std::thread one(run), two(run);
  one.join();
  two.join();
  std::puts("done");
}
