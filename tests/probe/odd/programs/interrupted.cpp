// cases: 400
// Makes as many blocking calls as its argument says. Nothing may interrupt calls that end by time.
// Every tenth call gets a signal when it blocks, and the signal must interrupt it.
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>

#include <atomic>
#include <string>
#include <vector>

#include "odd.hpp"

namespace {

struct Counts {
  std::atomic<long> calls{0}, interrupted{0}, timed_out{0}, other{0}, left{0};
};

int epoll_file;
thread_local timespec left;

int call_poll(int ms) { return poll(nullptr, 0, ms); }
int call_nanosleep(int ms) {
  const timespec time{ms / 1000, ms % 1000 * 1'000'000L};
  left = {-1, 0};
  return nanosleep(&time, &left);
}
int call_epoll(int ms) {
  epoll_event event{};
  return epoll_wait(epoll_file, &event, 1, ms);
}
int call_select(int ms) {
  timeval time{ms / 1000, ms % 1000 * 1000L};
  return select(0, nullptr, nullptr, nullptr, &time);
}

const struct {
  const char* name;
  int (*call)(int ms);
  long number;  // of the system call that the function makes
  bool not_least;
} kCalls[] = {
#if defined(__x86_64__)
    {"poll", call_poll, SYS_poll, false},
    {"nanosleep", call_nanosleep, SYS_clock_nanosleep, true},
    {"epoll_wait", call_epoll, SYS_epoll_wait, false},
    {"select", call_select, SYS_pselect6, false},
#else
    {"poll", call_poll, SYS_ppoll, false},
    {"nanosleep", call_nanosleep, SYS_clock_nanosleep, true},
    {"epoll_wait", call_epoll, SYS_epoll_pwait, false},
    {"select", call_select, SYS_pselect6, false},
#endif
};

void count(Counts& to, int result) {
  ++to.calls;
  if (result == 0)
    ++to.timed_out;
  else if (errno == EINTR)
    ++to.interrupted;
  else
    ++to.other;
}

// Waits until the thread sleeps in the system call `number`.
void wait_until_in(const std::string& path, long number) {
  const std::string wanted = std::to_string(number) + " ";
  for (;;) {
    char text[64] = "";
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const ssize_t got = read(file, text, sizeof text - 1);
    close(file);
    if (got > 0 && std::strncmp(text, wanted.c_str(), wanted.size()) == 0) return;
    sched_yield();
  }
}

}  // namespace

int main(int, char** words) {
  const long wanted = std::strtol(words[1], nullptr, 10);
  struct sigaction action{};
  action.sa_handler = [](int) {};
  action.sa_flags = SA_RESTART;  // signals interrupt these calls even so
  sigaction(SIGUSR1, &action, nullptr);
  epoll_file = epoll_create1(EPOLL_CLOEXEC);
  for (const auto& each : kCalls) {
    Counts timed, sent;
    // Calls that end by their time: many threads, each of which sleeps most of the time.
    const long threads = std::min(50L, std::max(1L, wanted / 50)), of_each = wanted / 4 / threads;
    std::vector<pthread_t> all;
    for (long i = 0; i < threads; ++i)
      all.push_back(begin([&] {
        for (long j = 0; j < of_each; ++j) count(timed, each.call(1));
      }));
    for (const pthread_t thread : all) pthread_join(thread, nullptr);
    // Calls that end by a signal, sent when the thread is known to block.
    std::atomic<long> turn{0};
    std::atomic<int> tid{0};
    const long signals = wanted / 40;
    const pthread_t blocked = begin([&] {
      tid = gettid();
      for (long i = 0; i < signals; ++i) {
        turn = i + 1;
        count(sent, each.call(60'000));
        if (each.not_least && (left.tv_sec < 50 || left.tv_sec > 60)) ++sent.left;
      }
    });
    while (tid == 0) sched_yield();
    const std::string path = "/proc/self/task/" + std::to_string(tid.load()) + "/syscall";
    for (long i = 0; i < signals; ++i) {
      while (turn != i + 1) sched_yield();
      wait_until_in(path, each.number);
      pthread_kill(blocked, SIGUSR1);
      while (sent.calls != i + 1) sched_yield();
    }
    pthread_join(blocked, nullptr);
    for (const Counts* to : {&timed, &sent})
      say("%s, %s: %ld calls, interrupted %ld, by time %ld, other %ld, wrong rest %ld", each.name,
          to == &timed ? "left alone" : "sent a signal", to->calls.load(), to->interrupted.load(),
          to->timed_out.load(), to->other.load(), to->left.load());
  }
}
