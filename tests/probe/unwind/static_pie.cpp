// A program without a loader that walks its own stack. The callers must include `outer` and main.
#include <cstdio>

#include "own_process.hpp"

namespace {

std::vector<std::uint64_t> stack;

[[gnu::noinline]] void inner(std::uint64_t high) {
  const own::Modules modules;
  stack = own::walk(modules, high);
}
[[gnu::noinline]] void outer(std::uint64_t high) {
  inner(high);
  asm volatile("" ::: "memory");
}

}  // namespace

int main(int, char** arguments) {
  outer(reinterpret_cast<std::uint64_t>(arguments));
  const auto begin = reinterpret_cast<std::uint64_t>(&outer);
  bool found = false;
  for (const std::uint64_t pc : stack) found |= pc > begin && pc < begin + 64;
  std::printf("%zu frames\n", stack.size());
  return found && stack.size() >= 3 ? 0 : 1;
}
