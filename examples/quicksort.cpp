// quicksort [NUMBERS [CUTOFF]]: sorts random numbers, each part above the cutoff by two
// std::asyncs, and compares with std::sort. It knows nothing of tmk: CMakeLists.txt builds it with
// and without.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <future>
#include <random>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

namespace {

using Numbers = std::span<std::uint64_t>;

// Hoare's partition about the median of three of at least two numbers: nothing in the first part is
// greater than anything in the rest. Neither is empty, because one of the three that is not the
// last is not less than the pivot.
std::size_t partition(Numbers numbers) {
  const std::uint64_t a = numbers.front(), b = numbers[(numbers.size() - 1) / 2],
                      c = numbers.back();
  const std::uint64_t pivot = std::max(std::min(a, b), std::min(std::max(a, b), c));
  auto low = numbers.begin(), high = numbers.end() - 1;
  for (;; ++low, --high) {
    while (*low < pivot) ++low;
    while (pivot < *high) --high;
    if (low >= high) return static_cast<std::size_t>(high - numbers.begin()) + 1;
    std::swap(*low, *high);
  }
}

void quicksort(Numbers numbers, std::size_t cutoff) {
  if (numbers.size() <= cutoff) return std::sort(numbers.begin(), numbers.end());
  const std::size_t middle = partition(numbers);
  std::future<void> left = std::async(std::launch::async, quicksort, numbers.first(middle), cutoff);
  std::future<void> right =
      std::async(std::launch::async, quicksort, numbers.subspan(middle), cutoff);
  left.get();
  right.get();
}

bool read(std::string_view text, std::size_t& number, std::size_t least) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end && number >= least;
}

template <class F>
double seconds(const F& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int count, char** arguments) {
  std::size_t size = 10'000'000, cutoff = 500;
  if (count > 3 || (count > 1 && !read(arguments[1], size, 0)) ||
      (count > 2 && !read(arguments[2], cutoff, 1))) {
    std::fprintf(stderr, "usage: quicksort [NUMBERS [CUTOFF, at least 1]]\n");
    return 2;
  }
  try {
    std::vector<std::uint64_t> numbers(size);
    std::generate(numbers.begin(), numbers.end(), std::mt19937_64{1});
    std::vector<std::uint64_t> expected = numbers;
    const double with_tasks = seconds([&] { quicksort(numbers, cutoff); });
    const double serial = seconds([&] { std::sort(expected.begin(), expected.end()); });
    if (numbers != expected) {
      std::fprintf(stderr, "quicksort: std::sort has another result\n");
      return 1;
    }
    std::printf("%zu numbers, cutoff %zu: quicksort %.3f s, std::sort %.3f s\n", size, cutoff,
                with_tasks, serial);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "quicksort: %s\n", error.what());
    return 1;
  }
}
