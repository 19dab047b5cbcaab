// The definitions. The handler sets a word without a lock, because a handler may do no more.
#include "interruption.hpp"

#include <atomic>
#include <csignal>
#include <cstdlib>

#include "complaint.hpp"

namespace students {
namespace {

std::atomic<int> noted{0};
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void note(int number) { noted.store(number); }

}  // namespace

void note_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action{};
    if (sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = note;
    // SA_RESTART: writes go on until the next check, and no call needs to be begun again.
    action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
    sigaction(number, &action, nullptr);
  }
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
}

void check_signals() {
  if (const int number = noted.load(); number != 0) throw Interrupted(number);
}

void end_by_signal(int number) {
  std::signal(number, SIG_DFL);
  std::raise(number);
  std::_Exit(128 + number);  // the signal is blocked
}

}  // namespace students
