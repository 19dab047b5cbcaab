// One recursion made of tasks, for an instruction counter.
//   fib async|fork N
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tmk/async.hpp"
#include "tmk/fork_join.hpp"

namespace {

long with_async(int n) {
  if (n < 2) return n;
  auto a = tmk::async(with_async, n - 1);
  auto b = tmk::async(with_async, n - 2);
  return a.get() + b.get();
}
long with_fork(int n) {
  if (n < 2) return n;
  const auto [a, b] =
      tmk::fork_join([n] { return with_fork(n - 1); }, [n] { return with_fork(n - 2); });
  return a + b;
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) return 2;
  const int n = std::atoi(words[2]);
  std::printf("%ld\n", std::string_view(words[1]) == "async" ? with_async(n) : with_fork(n));
}
