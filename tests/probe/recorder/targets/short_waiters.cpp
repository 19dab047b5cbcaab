// Threads that live for some milliseconds each, one after the other, and wait nearly all that time.
#include <semaphore.h>

#include <chrono>
#include <thread>

int main() {
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // ticks are frequent at first
  sem_t done;
  sem_init(&done, 0, 0);
  for (int i = 0; i < 40; ++i) {
    std::thread waiter([&] { sem_wait(&done); });
    std::this_thread::sleep_for(std::chrono::milliseconds(12));
    sem_post(&done);
    waiter.join();
  }
}
