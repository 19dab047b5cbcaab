// A library that a program needs. It makes a thread before the agent's constructor runs, and that
// thread waits for the first time 300 ms later.
#include <unistd.h>

#include <chrono>
#include <thread>

namespace {

[[gnu::constructor]] void begin() {
  std::thread([] {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
    while (std::chrono::steady_clock::now() < end) {
    }
    for (;;) usleep(10'000);
  }).detach();
}

}  // namespace
