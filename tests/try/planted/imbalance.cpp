// fix: none
// why: One thread has most of the work.
#include "threads.hpp"

int main(int, char** words) {
  const long count = std::atol(words[1]);
  std::vector<std::thread> all;
  for (long i = 0; i < count; ++i) all.emplace_back([=] { work(i ? 40'000'000 : 360'000'000); });
  for (std::thread& each : all) each.join();
}
