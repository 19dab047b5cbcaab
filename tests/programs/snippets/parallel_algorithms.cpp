// The card's code on parallel_algorithms: threads of oneTBB work on every number once, and an
// exception reaches the caller, while std::execution::par would end the process. The installed
// oneTBB is built with libstdc++, so it can carry no exception of libc++.
// uses: TBB
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <stdexcept>
#include <vector>

namespace {

template <class Work>
void all(std::vector<int>& numbers, Work work) {
  // snippet
}

}  // namespace

int main() {
  std::vector<int> numbers(10'000);
  all(numbers, [](int& number) { ++number; });
  assert(std::count(numbers.begin(), numbers.end(), 1) == 10'000);

#if defined(__GLIBCXX__)
  bool caught = false;
  try {
    all(numbers, [](int&) { throw std::runtime_error("of one number"); });
  } catch (const std::runtime_error&) {
    caught = true;
  }
  assert(caught);
#endif

  std::vector<int> none;
  all(none, [](int&) { assert(false); });
}
