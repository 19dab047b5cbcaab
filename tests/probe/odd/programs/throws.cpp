// Exceptions through functions that the agent wraps, and through frames that it unwinds: routines
// of once, initialisers of static variables, futures, threads, destructors that wait.
#include <future>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include "odd.hpp"

namespace {

int tries = 0;

int slowly() {
  sleep_us(500);
  if (++tries < 4) throw std::runtime_error("try " + std::to_string(tries));
  return tries;
}

int made() {
  static const int value = slowly();
  return value;
}

std::mutex mutex;

struct Waits {
  ~Waits() { contend(2, 50); }
};

[[gnu::noinline]] void deep(int left) {
  const std::lock_guard lock(mutex);
  const Waits waits;
  if (left == 0) throw left;
  mutex.unlock();
  try {
    deep(left - 1);
  } catch (...) {
    mutex.lock();
    throw;
  }
}

}  // namespace

int main() {
  for (int i = 0; i < 4; ++i) {
    try {
      say("made %d", made());
    } catch (const std::exception& thrown) {
      say("caught %s", thrown.what());
    }
  }
  std::once_flag once;
  for (int i = 0; i < 3; ++i) {
    try {
      std::call_once(once, [&] {
        if (i < 2) throw i;
        say("once in try %d", i);
      });
    } catch (int thrown) {
      say("caught %d of call_once", thrown);
    }
  }
  static pthread_once_t plain = PTHREAD_ONCE_INIT;
  for (int i = 0; i < 2; ++i) {
    static int given;
    given = i;
    try {
      pthread_once(&plain, [] {
        if (given == 0) throw 40;
        say("pthread_once in try %d", given);
      });
    } catch (int thrown) {
      say("caught %d of pthread_once", thrown);
    }
  }
  std::future<int> later = std::async(std::launch::async, []() -> int {
    sleep_us(1'000);
    throw std::logic_error("of a task");
  });
  try {
    later.get();
  } catch (const std::exception& thrown) {
    say("caught %s", thrown.what());
  }
  try {
    deep(3);
  } catch (int) {
    say("out of the deep, mutex free %d", mutex.try_lock());
  }
  try {
    std::mutex twice;
    std::unique_lock<std::mutex> lock(twice);
    lock.lock();
  } catch (const std::system_error& thrown) {
    say("caught %s", name_of(thrown.code().value()));
  }
}
