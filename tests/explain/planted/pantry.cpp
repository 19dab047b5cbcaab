// A kitchen with one pantry: cooks take ingredients from the shelves and put the rest back.
//
// category: spin
// name: pantry_open
// holder: fetch < cook
// certain: yes
// why: The pantry's door is an int that is taken by __sync_lock_test_and_set in a loop.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "without.hpp"

namespace {

constexpr std::uint64_t expected = 950;

SHARED int pantry_open = 0;
SHARED std::map<std::string, int> shelves;

[[gnu::noinline]] int fetch(const std::string& what, int amount) {
  while (__sync_lock_test_and_set(&pantry_open, 1) != 0) {
  }
  int& there = shelves[what];
  there += amount;
  if (there > 1000) there = 0;
  __sync_lock_release(&pantry_open);
  return amount;
}

[[gnu::noinline]] std::uint64_t cook(const std::vector<std::string>& recipe) {
  std::uint64_t grams = 0;
  for (const std::string& each : recipe) grams += fetch(each, static_cast<int>(each.size()));
  return grams;
}

class Cook {
 public:
  void start(int dishes) {
    thread_ = std::thread([this, dishes] {
      std::vector<std::string> recipe;
      for (int i = 0; i < 40; ++i) recipe.push_back("an ingredient, number " + std::to_string(i));
      for (int dish = 0; dish < dishes; ++dish) grams_ += cook(recipe);
    });
  }
  std::uint64_t finish() {
    thread_.join();
    return grams_;
  }

 private:
  std::thread thread_;
  std::uint64_t grams_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1.5;
  const int dishes = 2 + static_cast<int>(seconds * 400'000);
  std::vector<Cook> cooks(threads);
  for (int t = 0; t < threads; ++t) {
    cooks[t].start(static_cast<int>(dishes * (t + 1LL) / threads - 1LL * dishes * t / threads));
  }
  std::uint64_t grams = 0;
  for (Cook& each : cooks) grams += each.finish();
  std::printf("checksum %llu\n", static_cast<unsigned long long>(grams / dishes));
  return grams == expected * dishes ? 0 : 1;
}
