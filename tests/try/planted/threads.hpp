// What the planted programs share: threads that divide a fixed amount of work.
#pragma once
#include <cstdlib>
#include <thread>
#include <vector>

template <typename Value>
void keep(Value value) {
  asm volatile("" : : "r"(value) : "memory");
}

inline void work(long steps) {
  for (long i = 0; i < steps; ++i) asm volatile("");
}

// Calls `function` in as many threads as the text says, each with its share of the work.
template <typename Function>
void in_threads(const char* text, Function function) {
  const long count = std::atol(text);
  std::vector<std::thread> all;
  for (long i = 0; i < count; ++i) all.emplace_back([=] { function(4'000'000 / count); });
  for (std::thread& each : all) each.join();
}
