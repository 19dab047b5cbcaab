// An allocator of the program's own, which counts its calls and takes a mutex in each. The agent
// must neither call it nor wait for its mutex from within.
#include <sys/mman.h>

#include <atomic>
#include <string>
#include <vector>

#include "odd.hpp"

namespace {

alignas(64) char arena[64 << 20];
std::size_t used = 0;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
std::atomic<long> calls{0};

void* take(std::size_t size, std::size_t alignment = 16) {
  ++calls;
  pthread_mutex_lock(&lock);
  used = (used + alignment - 1) / alignment * alignment + 16;
  char* place = arena + used;
  used += size;
  pthread_mutex_unlock(&lock);
  if (used > sizeof arena) _exit(95);
  return place;
}

}  // namespace

extern "C" {
void* malloc(std::size_t size) { return take(size); }
void free(void*) {
  ++calls;
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
}
void* calloc(std::size_t count, std::size_t size) { return take(count * size); }
void* realloc(void* from, std::size_t size) {
  void* to = take(size);
  if (from != nullptr)  // stays within the arena; its unused part is zero
    std::memmove(to, from,
                 std::min(size, static_cast<std::size_t>(static_cast<char*>(to) -
                                                         static_cast<char*>(from))));
  return to;
}
void* memalign(std::size_t alignment, std::size_t size) { return take(size, alignment); }
void* aligned_alloc(std::size_t alignment, std::size_t size) { return take(size, alignment); }
int posix_memalign(void** to, std::size_t alignment, std::size_t size) {
  *to = take(size, alignment);
  return 0;
}
}

int main() {
  const long at_start = calls;
  std::vector<pthread_t> threads;
  std::atomic<std::size_t> sum{0};
  for (int i = 0; i < 4; ++i)
    threads.push_back(begin([&] {
      for (int j = 0; j < 500; ++j)
        sum += std::string(100 + static_cast<std::size_t>(j), 'x').size();
    }));
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  say("sum %zu, calls before main %ld, in main %ld", sum.load(), at_start, calls - at_start);
}
