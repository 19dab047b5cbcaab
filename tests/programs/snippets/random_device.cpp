// The card's code on random_device, at namespace scope and in a function: each thread makes its
// engine once and with a seed of its own.
#include <cassert>
#include <random>
#include <set>
#include <thread>

namespace outside {
// snippet
}  // namespace outside

namespace {

struct Found {
  std::set<const void*> engines;
  std::set<unsigned long> numbers;
};

void draw(Found& found) {
  // snippet
  found.engines.insert({&engine, &outside::engine});
  found.numbers.insert({engine(), outside::engine()});
}

// Draws in `threads` threads, all of which are there until the last one has drawn.
void draw_in(int threads, Found& found) {
  if (threads == 0) return;
  std::thread([threads, &found] {
    draw(found);
    draw(found);  // uses the same engines again
    draw_in(threads - 1, found);
  }).join();
}

}  // namespace

int main() {
  Found found;
  draw_in(4, found);
  assert(found.engines.size() == 8);
  assert(found.numbers.size() >= 14);  // two of 16 are equal once in 36 million runs
}
