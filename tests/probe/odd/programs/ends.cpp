// cases: returns, in_a_thread, at_once, quickly, first_leaves, aborts, faults, overflows, divides
// cases: not_caught, killed, terminated, alarmed, terminates_group
// Every way to end, while other threads wait. All functions for the end run, in the same order.
#include <atomic>
#include <exception>
#include <stdexcept>
#include <string>

#include "odd.hpp"

namespace {

pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

struct Global {
  ~Global() { say("global"); }
} global;

// Values that the compiler does not know.
std::atomic<int*> nowhere{nullptr};
std::atomic<int> zero{0};

thread_local struct Own {
  ~Own() { say("of a thread"); }
  int word = 0;
} own;

[[gnu::noinline]] int deep(const std::atomic<int>* from) {
  std::atomic<int> room[4096];
  room[0] = *from + 1;
  return room[0] < 0 ? 0 : deep(room) + room[0];
}

[[gnu::noinline]] void end(const std::string& how) {
  if (how == "aborts") std::abort();
  if (how == "faults") *nowhere.load() = 1;
  if (how == "overflows") deep(&zero);
  if (how == "divides") zero = 1 / zero.load();
  if (how == "not_caught") throw std::runtime_error("of the program");
  if (how == "killed") kill(getpid(), SIGKILL);
  if (how == "terminated") kill(getpid(), SIGTERM);
  if (how == "terminates_group") kill(0, SIGTERM);
  if (how == "alarmed") {
    ualarm(1'000, 0);
    pthread_mutex_lock(&held);
  }
}

}  // namespace

int main(int, char** words) {
  const std::string how = words[1];
  std::atexit([] { say("at exit"); });
  std::at_quick_exit([] { say("at quick exit"); });
  pthread_mutex_lock(&held);
  begin([] { pthread_mutex_lock(&held); });
  contend(3, 100);
  own.word = 1;
  if (how == "in_a_thread") {
    begin([] {
      own.word = 2;
      std::exit(7);
    });
    pause();
  }
  if (how == "at_once") begin([] { _exit(8); });
  if (how == "at_once") pause();
  if (how == "quickly") std::quick_exit(9);
  if (how == "first_leaves") {
    begin([] {
      sleep_us(3'000);
      std::exit(10);
    });
    pthread_exit(nullptr);
  }
  const pthread_t other = begin([&] { end(how); });
  pthread_join(other, nullptr);
  sleep_us(20'000);  // a signal for the process may come to another thread
  return 6;
}
