// fib, written against TBB.
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_invoke.h>
#include <oneapi/tbb/task_arena.h>

#include "byhand.hpp"
#include "fib.hpp"

static long fib(long n) {
  if (n < 2) return n;
  long left = 0, right = 0;
  tbb::parallel_invoke([&] { left = fib(n - 1); }, [&] { right = fib(n - 2); });
  return left + right;
}

int main(int argc, char** argv) {
  const byhand::Options options(argc, argv);
  tbb::global_control control(tbb::global_control::max_allowed_parallelism,
                              static_cast<std::size_t>(options.threads));
  tbb::task_arena arena(options.threads);
  long answer = 0;
  return byhand::measure(
      options, [&] { answer = 0; },
      [&] { arena.execute([&] { answer = fib(options.parameters[0]); }); },
      [&] { return answer == expected_fib(options.parameters[0]); });
}
