// One recursion, serial and made of tasks in two ways, to measure the time and the instructions of
// a task.
#pragma once

#include <string_view>

#include "tmk/async.hpp"
#include "tmk/fork_join.hpp"

namespace fib {

// The compiler must not merge calls, because that would give another recursion.
[[gnu::noinline]] inline long serial(int n) {
  asm volatile("" : "+r"(n));
  if (n < 2) return n;
  return serial(n - 1) + serial(n - 2);
}
inline long with_async(int n) {
  if (n < 2) return n;
  auto a = tmk::async(with_async, n - 1);
  auto b = tmk::async(with_async, n - 2);
  return a.get() + b.get();
}
inline long with_fork(int n) {
  if (n < 2) return n;
  const auto [a, b] =
      tmk::fork_join([n] { return with_fork(n - 1); }, [n] { return with_fork(n - 2); });
  return a + b;
}

inline long with_scope(int n) {
  if (n < 2) return n;
  long a = 0;
  tmk::task_scope scope;
  scope.run([&a, n] { a = with_scope(n - 1); });
  const long b = with_scope(n - 2);
  scope.wait();
  return a + b;
}

// A form by its name: serial, async, fork or scope; null for another name.
using Form = long (*)(int);
inline Form form(std::string_view name) {
  if (name == "serial") return serial;
  if (name == "async") return with_async;
  if (name == "fork") return with_fork;
  return name == "scope" ? with_scope : nullptr;
}

}  // namespace fib
