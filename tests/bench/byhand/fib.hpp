// The part of fib that both libraries share: the right answer.
#pragma once

#include <utility>

// Without recursion.
inline long expected_fib(long n) {
  long current = 0;
  for (long next = 1; n > 0; --n) current = std::exchange(next, current + next);
  return current;
}
