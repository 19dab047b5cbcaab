// fix: none
// why: Each thread sorts an array of its own, which it made once.
#include <algorithm>

#include "threads.hpp"

int main(int, char** words) {
  in_threads(words[1], [](long share) {
    std::vector<unsigned> numbers(share / 3);
    unsigned value = 1;
    for (unsigned& each : numbers) each = value = value * 1664525 + 1013904223;
    std::sort(numbers.begin(), numbers.end());
    keep(numbers[0]);
  });
}
