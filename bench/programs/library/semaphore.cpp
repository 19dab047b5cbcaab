// Acquires and releases a free permit: of a semaphore that all threads share, or of the thread's
// own. No thread ever waits, so the program measures the cost of a permit.
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <semaphore>
#include <string>

#include "contention.hpp"

namespace {

constexpr std::ptrdiff_t kPermits = 4096;  // more than threads

template <class Semaphore>
struct alignas(bench::cache_line) Permits {
  explicit Permits(std::ptrdiff_t permits) : semaphore(permits) {}
  // All are back: as many can be taken as there were, and no more.
  std::string check(std::ptrdiff_t permits) {
    std::ptrdiff_t taken = 0;
    while (taken <= permits && semaphore.try_acquire()) ++taken;
    if (taken != 0) semaphore.release(taken);
    return taken == permits ? "" : "permits were lost or made";
  }
  Semaphore semaphore;
};

template <class Semaphore>
void take_and_give(Semaphore& semaphore, std::uint64_t n) {
  for (; n != 0; --n) {
    semaphore.acquire();
    semaphore.release();
  }
}

template <class Semaphore>
struct shared {
  explicit shared(unsigned) {}
  struct contender {
    contender(shared& all, unsigned) : semaphore(all.permits.semaphore) {}
    void run(std::uint64_t n) { take_and_give(semaphore, n); }
    std::string check(std::uint64_t) const { return {}; }  // others hold permits just now
    Semaphore& semaphore;
  };
  std::string check(std::uint64_t) { return permits.check(kPermits); }
  Permits<Semaphore> permits{kPermits};
};

template <class Semaphore, std::ptrdiff_t kOwn>
struct own {
  explicit own(unsigned) {}
  struct contender {
    contender(own&, unsigned) {}
    void run(std::uint64_t n) { take_and_give(permits.semaphore, n); }
    std::string check(std::uint64_t) { return permits.check(kOwn); }
    Permits<Semaphore> permits{kOwn};
  };
};

// The one permit of a mutex.
struct MutexPermit {
  explicit MutexPermit(std::ptrdiff_t) {}
  void acquire() { mutex.lock(); }
  bool try_acquire() { return mutex.try_lock(); }
  void release(std::ptrdiff_t = 1) { mutex.unlock(); }
  std::mutex mutex;
};

using Counting = std::counting_semaphore<>;

}  // namespace

CONTENTION_PROGRAM(.name = "semaphore",
                   .summary = "permits that are free, of one semaphore or of one for each thread",
                   .operation = "acquire and release a permit that is free",
                   .origin = "Threadmark; libstdc++ bits/semaphore_base.h",
                   .ways = {
                       bench::usual<shared<Counting>>(
                           "shared", "one counting_semaphore with permits to spare"),
                       bench::usual<own<std::binary_semaphore, 1>>(
                           "own_last", "a binary_semaphore for each thread: its only permit"),
                       bench::remedy<own<Counting, kPermits>>(
                           "own", "a counting_semaphore for each thread, with permits to spare"),
                       bench::remedy<own<MutexPermit, 1>>("own_mutex",
                                                          "a std::mutex for each thread"),
                   })
