// The function that drivers of snippets share.
#pragma once

#include <thread>

// Calls f(0) and f(1) at the same time.
template <class F>
void on_two_threads(F f) {
  std::thread other([&f] { f(1U); });
  f(0U);
  other.join();
}
