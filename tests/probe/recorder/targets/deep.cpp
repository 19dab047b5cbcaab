// Two threads take a mutex ROUNDS times, each time at another depth of a recursion.
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

std::mutex bottom;
long sum;

[[gnu::noinline]] long descend(int depth) {
  if (depth == 0) {
    const std::lock_guard<std::mutex> held(bottom);
    for (int i = 0; i < 20; ++i) {
      sum += i;
      asm volatile("" ::: "memory");
    }
    return 1;
  }
  const long found = descend(depth - 1);
  asm volatile("" ::: "memory");  // or the compiler makes a loop of it
  return found + 1;
}

int main(int, char** words) {
  const auto run = [rounds = std::atoi(words[1])] {
    unsigned state = 1;
    for (int round = 0; round < rounds; ++round) {
      state = state * 1664525 + 1013904223;
      descend(static_cast<int>(state >> 26));
    }
  };
  std::thread one(run), two(run);
  one.join();
  two.join();
  std::puts("done");
}
