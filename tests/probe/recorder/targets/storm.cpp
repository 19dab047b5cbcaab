// Makes threads one after the other for half a second, and at least 4,000.
#include <chrono>
#include <thread>

int main() {
  const auto begin = std::chrono::steady_clock::now();
  for (int made = 0;
       made < 4'000 || std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(500);
       ++made) {
    std::thread([] {}).join();
  }
}
