// A library that was preloaded before the agent: a malloc that never gives memory back, and takes a
// pthread mutex for each call, like some allocators do.
#include <pthread.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
unsigned char* next = nullptr;

constexpr std::size_t kArena = std::size_t{4} << 30;

}  // namespace

extern "C" {

[[gnu::visibility("default")]] void* malloc(std::size_t size) {
  pthread_mutex_lock(&mutex);
  if (next == nullptr) {
    void* arena = mmap(nullptr, kArena, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    next = static_cast<unsigned char*>(arena);
  }
  unsigned char* to = next + 16;
  std::memcpy(next, &size, sizeof size);
  next = to + (size + 15) / 16 * 16;
  pthread_mutex_unlock(&mutex);
  return to;
}

[[gnu::visibility("default")]] void free(void*) {}

[[gnu::visibility("default")]] void* calloc(std::size_t count, std::size_t size) {
  return malloc(count * size);  // the arena's memory is zero, and never used twice
}

[[gnu::visibility("default")]] void* realloc(void* from, std::size_t size) {
  void* to = malloc(size);
  if (from == nullptr) return to;
  std::size_t before = 0;
  std::memcpy(&before, static_cast<unsigned char*>(from) - 16, sizeof before);
  std::memcpy(to, from, before < size ? before : size);
  return to;
}

}  // extern "C"
