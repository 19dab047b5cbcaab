// The card's code on rand: the numbers of a thread depend on its own seed and on no action of
// another thread, srand included.
#include <cassert>
#include <cstdlib>
#include <random>
#include <thread>

namespace {

thread_local unsigned seed_of_this_thread = 0;

unsigned drawn() {
  // snippet
  return number;
}

unsigned first_of_thread(unsigned seed) {
  unsigned result = 0;
  std::thread([seed, &result] {
    seed_of_this_thread = seed;
    result = drawn();
    assert(drawn() != result);
  }).join();
  return result;
}

}  // namespace

int main() {
  assert(first_of_thread(1) == 1791095845);  // the first number of mt19937 for the seed 1
  std::srand(7);
  assert(first_of_thread(1) == 1791095845);
  assert(first_of_thread(2) != 1791095845);
  bool beyond = false;  // 32 bits, while RAND_MAX has 31 here
  for (int i = 0; i < 100; ++i) beyond |= drawn() > RAND_MAX;
  assert(beyond);
}
