// Signal handlers on the smallest stack that the system allows, which wait for locks and sleep.
#include <sys/auxv.h>
#include <sys/mman.h>

#include <atomic>

#include "odd.hpp"

namespace {
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
std::atomic<int> handled{0};
}  // namespace

int main() {
  struct sigaction action{};
  action.sa_handler = [](int) {
    pthread_mutex_lock(&mutex);
    ++handled;
    pthread_mutex_unlock(&mutex);
    sleep_us(10);
  };
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &action, nullptr);
  // The kernel's minimum for the frame of a signal, and two pages for the handler.
  const std::size_t least = getauxval(AT_MINSIGSTKSZ) + 4096, page = 4096;
  const std::size_t size = (least + page - 1) / page * page + page;
  const auto work = [&] {
    char* room = static_cast<char*>(
        mmap(nullptr, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(room, page, PROT_NONE);
    const stack_t stack{room + page, 0, size};
    sigaltstack(&stack, nullptr);
    for (int i = 0; i < 40; ++i) {
      pthread_mutex_lock(&mutex);
      sched_yield();
      pthread_mutex_unlock(&mutex);
      raise(SIGUSR1);
    }
    const stack_t none{nullptr, SS_DISABLE, 0};
    sigaltstack(&none, nullptr);
    munmap(room, size + page);
  };
  const pthread_t threads[] = {begin(work), begin(work), begin(work)};
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  say("handled %d", handled.load());
}
