// For test_endings.py: one thread waits for another's posts, some 500 a second. Each line of the
// output has the time and the number of ended waits. goes_on HOW [COUNT]: at this count the program
// faults or aborts; else it goes on until it is killed.
#include <semaphore.h>

#include <string>

#include "odd.hpp"

int main(int count, char** words) {
  const std::string how = count > 1 ? words[1] : "";
  const long last = count > 2 ? std::atol(words[2]) : -1;
  static sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  begin([] {
    for (;;) {
      sleep_us(2'000);
      sem_post(&semaphore);
    }
  });
  for (long waits = 0; waits != last;) {
    while (sem_wait(&semaphore) != 0) {
    }
    ++waits;
    if (waits % 10 == 0 || waits == last)
      say("%llu %ld", static_cast<unsigned long long>(now_us()), waits);
  }
  if (how == "aborts") std::abort();
  if (how == "faults") kill(getpid(), SIGSEGV);
  return 0;
}
