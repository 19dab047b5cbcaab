// known: the agent has a descriptor for a moment when it reads the maps of the process
// Relies on the lowest free number: the program closes 0 and opens another file there. Meanwhile
// other threads wait on their own stacks, on those of fibers and on those of handlers.
#include <fcntl.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <atomic>

#include "odd.hpp"

namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
std::atomic<bool> over{false};
thread_local ucontext_t back, fiber;

void wait_often() {
  for (int i = 0; i < 5; ++i) {
    pthread_mutex_lock(&mutex);
    sched_yield();
    pthread_mutex_unlock(&mutex);
  }
}

void on_new_stacks() {
  constexpr std::size_t kSize = 65536;
  while (!over) {
    void* stack = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    getcontext(&fiber);
    fiber.uc_stack.ss_sp = stack;
    fiber.uc_stack.ss_size = kSize;
    fiber.uc_link = &back;
    makecontext(&fiber, wait_often, 0);
    swapcontext(&back, &fiber);
    munmap(stack, kSize);
  }
}

}  // namespace

int main() {
  const pthread_t one = begin(on_new_stacks), two = begin(on_new_stacks);
  int others = 0;
  const std::uint64_t until = now_us() + 60'000;
  while (now_us() < until) {
    close(0);
    if (open("/dev/null", O_RDONLY) != 0) ++others;
  }
  over = true;
  pthread_join(one, nullptr);
  pthread_join(two, nullptr);
  say("other numbers than 0: %d", others);
}
