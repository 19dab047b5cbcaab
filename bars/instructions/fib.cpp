// One recursion, for an instruction counter.
//   fib serial|async|fork|scope N
#include "fib.hpp"

#include <cstdio>
#include <cstdlib>

int main(int count, char** words) {
  const fib::Form form = count == 3 ? fib::form(words[1]) : nullptr;
  if (form == nullptr) return 2;
  std::printf("%ld\n", form(std::atoi(words[2])));
}
