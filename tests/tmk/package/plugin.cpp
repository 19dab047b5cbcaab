// A plugin that uses tmk, and the part of a program that uses it, for test_plugins.py.
#include <tmk/async.hpp>
#include <tmk/pool.hpp>

#include <chrono>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT const void* pool() { return &tmk::detail::Pool::standard(); }

// Returns when a thread of the pool has run the last task.
EXPORT int use() {
  std::vector<tmk::future<int>> tasks;
  for (int i = 0; i < 100; ++i) tasks.push_back(tmk::async([] { return 1; }));
  while (tasks.back().wait_for(std::chrono::milliseconds(1)) != tmk::future_status::ready) {
  }
  int sum = 0;
  for (auto& task : tasks) sum += task.get();
  return sum;
}

EXPORT void use_at_thread_exit() { tmk::promise<void>().set_value_at_thread_exit(); }
