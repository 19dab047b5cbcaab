// fix: none
// why: The threads wait for a clock.
#include <chrono>

#include "threads.hpp"

int main(int, char** words) {
  in_threads(words[1], [](long) {
    for (int i = 0; i < 10; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  });
}
