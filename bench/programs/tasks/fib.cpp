// Fibonacci numbers by naive recursion: no work per task, so the program measures the cost of
// making and joining a task.
#include <cstdint>
#include <utility>

#include "bench.hpp"

namespace {

std::uint64_t fib_futures(std::int64_t n) {
  n = bench::opaque(n);
  if (n < 2) return static_cast<std::uint64_t>(n);
  auto left = bench::async(fib_futures, n - 1);
  auto right = bench::async(fib_futures, n - 2);
  const std::uint64_t sum = left.get();
  return sum + right.get();
}

std::uint64_t fib_fork_join(std::int64_t n) {
  n = bench::opaque(n);
  if (n < 2) return static_cast<std::uint64_t>(n);
  std::uint64_t left = 0;
  std::uint64_t right = 0;
  bench::fork_join([&] { left = fib_fork_join(n - 1); }, [&] { right = fib_fork_join(n - 2); });
  return left + right;
}

std::uint64_t fib_iterative(std::int64_t n) {
  std::uint64_t current = 0;
  std::uint64_t next = 1;
  for (std::int64_t i = 0; i < n; ++i) next += std::exchange(current, next);
  return current;
}

class Fib final : public bench::Instance {
 public:
  explicit Fib(const bench::Arguments& arguments) : n_(arguments["n"]) {}

  void clear() override { answer_ = ~std::uint64_t{0}; }
  void run(bench::Form form) override {
    answer_ = form == bench::Form::futures ? fib_futures(n_) : fib_fork_join(n_);
  }
  bench::Check check() override {
    const std::uint64_t expected = fib_iterative(n_);
    return {.ok = answer_ == expected,
            .answer = std::to_string(answer_),
            .reason = "expected " + std::to_string(expected),
            .tasks = 2 * fib_iterative(n_ + 1) - 2};
  }

 private:
  std::int64_t n_;
  std::uint64_t answer_ = 0;
};

}  // namespace

BENCH_PROGRAM(
        .name = "fib", .summary = "Fibonacci numbers by naive recursion, empty tasks",
        .structure = "recursive balanced", .granularity = "fine", .synchronisation = "none",
        .origin = "-",
        .parameters = {{.name = "n",
                        .meaning = "index of the number",
                        .min = 0,
                        .max = 60,
                        .smoke = 15,
                        .quick = 30,
                        .full = 30}},
        .fork_join = true,
        .make = [](const bench::Arguments& arguments) -> std::unique_ptr<bench::Instance> {
          return std::make_unique<Fib>(arguments);
        })
