// Fibers that go on in other threads than they began in, on stacks that come and go. They wait for
// locks there.
#include <sys/mman.h>
#include <ucontext.h>

#include <atomic>

#include "odd.hpp"

namespace {

constexpr std::size_t kSize = 65536;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
long count = 0;

struct Fiber {
  ucontext_t own, caller;
  char* stack = nullptr;
  int steps = 0;
  bool over = false;
};

void body(unsigned high, unsigned low) {
  auto* fiber = reinterpret_cast<Fiber*>(std::uintptr_t{high} << 32 | low);
  for (int i = 0; i < 10; ++i) {
    pthread_mutex_lock(&mutex);
    ++count;
    sched_yield();
    pthread_mutex_unlock(&mutex);
    ++fiber->steps;
    swapcontext(&fiber->own, &fiber->caller);
  }
  fiber->over = true;
  swapcontext(&fiber->own, &fiber->caller);
}

void make(Fiber& fiber) {
  fiber.stack = static_cast<char*>(
      mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  getcontext(&fiber.own);
  fiber.own.uc_stack.ss_sp = fiber.stack;
  fiber.own.uc_stack.ss_size = kSize;
  fiber.own.uc_link = nullptr;
  const auto at = reinterpret_cast<std::uintptr_t>(&fiber);
  makecontext(&fiber.own, reinterpret_cast<void (*)()>(body), 2, static_cast<unsigned>(at >> 32),
              static_cast<unsigned>(at));
}

}  // namespace

int main() {
  constexpr int kFibers = 12, kThreads = 3;
  static Fiber fibers[kFibers];
  for (Fiber& fiber : fibers) make(fiber);
  // Each thread runs each fiber in turn. A barrier between turns allows one thread per fiber.
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, kThreads);
  pthread_t threads[kThreads];
  for (int t = 0; t < kThreads; ++t)
    threads[t] = begin([&, t] {
      for (int turn = 0; turn < 11 * kThreads; ++turn) {
        for (int f = (t + turn) % kThreads; f < kFibers; f += kThreads)
          if (!fibers[f].over) swapcontext(&fibers[f].caller, &fibers[f].own);
        pthread_barrier_wait(&barrier);
      }
    });
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  int steps = 0, over = 0;
  for (Fiber& fiber : fibers) {
    steps += fiber.steps;
    over += fiber.over;
    munmap(fiber.stack, kSize);
  }
  say("steps %d, over %d, counted %ld, then %ld", steps, over, count, contend(2, 100));
}
