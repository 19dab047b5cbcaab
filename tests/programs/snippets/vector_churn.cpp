// The card's code on vector_churn: each thread has its vector, and only the first one allocates.
#include <cassert>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

namespace {

thread_local int allocations = 0;

const int* with(int value) {
  // snippet
  assert(vector.size() == 1 && vector.front() == value);
  return vector.data();
}

}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  if (void* const block = std::malloc(size)) return block;
  throw std::bad_alloc();
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }

int main() {
  const int* const mine = with(1);
  const int before = allocations;
  for (int i = 0; i < 100; ++i) assert(with(i) == mine);
  assert(allocations == before);
  std::thread([mine] { assert(with(2) != mine); }).join();
  assert(*mine == 99);
}
