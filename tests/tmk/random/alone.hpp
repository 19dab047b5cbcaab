// Steps that need no other step of their program.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <latch>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "../support.hpp"
#include "evaluate.hpp"
#include "program.hpp"
#include "subject.hpp"

namespace random_programs {

using Clock = std::chrono::steady_clock;

[[noreturn]] inline void fail(const char* what) {
  std::printf("wrong: %s\n", what);
  std::fflush(stdout);
  _exit(3);
}
inline void require(bool holds, const char* what) {
  if (!holds) fail(what);
}

inline void pause_once(Id how) {
  if (how == kYield) std::this_thread::yield();
  if (how == kNap1ms) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (how == kNap100us) std::this_thread::sleep_for(std::chrono::microseconds(100));
}
template <class Done>
void pause_until(Id how, const Done& done) {
  while (!done()) pause_once(how);
}
inline void busy(Id us) {
  for (const auto end = Clock::now() + std::chrono::microseconds(us); Clock::now() < end;) {
  }
}

// A place at which tasks meet, in any way.
class Place {
 public:
  explicit Place(Meeting meeting)
      : meeting_(meeting), latch_(meeting.count), barrier_(meeting.count) {}
  void arrive_and_wait() {
    switch (meeting_.way) {
      case kLatch:
        return latch_.arrive_and_wait();
      case kBarrier:
        return barrier_.arrive_and_wait();
      case kCondition: {
        std::unique_lock lock(mutex_);
        if (++arrived_ == meeting_.count) return condition_.notify_all();
        return condition_.wait(lock, [&] { return arrived_ == meeting_.count; });
      }
      default:
        ++arrived_;
        pause_until(meeting_.way - kByYield, [&] { return arrived_ == meeting_.count; });
    }
  }

 private:
  const Meeting meeting_;
  std::latch latch_;
  std::barrier<> barrier_;
  std::mutex mutex_;
  std::condition_variable condition_;
  std::atomic<Id> arrived_ = 0;
};

inline std::uint64_t fib(Id n, Id form) {
  if (n < 2) return n;
  if (form == 0) {
    auto left = subject::async(fib, n - 1, form);
    const std::uint64_t right = fib(n - 2, form);
    return left.get() + right;
  }
  if (form == 1) {
    const auto [left, right] =
        subject::fork_join([&] { return fib(n - 1, form); }, [&] { return fib(n - 2, form); });
    return left + right;
  }
  std::uint64_t left = 0, right = 0;
  subject::task_scope scope;
  scope.run([&] { left = fib(n - 1, form); });
  scope.run([&] { right = fib(n - 2, form); });
  scope.wait();
  return left + right;
}

inline std::uint64_t crowd(Id count, Id way, Id order) {
  Place place({.count = count, .way = way});
  std::vector<subject::future<Id>> tasks;
  for (Id i = 0; i < count; ++i) {
    tasks.push_back(subject::async(subject::launch::async, [&place, i] {
      place.arrive_and_wait();
      return i + 1;
    }));
  }
  std::uint64_t sum = 0;
  const auto fetch = [&] {
    while (!tasks.empty()) {
      if (order == 1) std::swap(tasks.front(), tasks.back());
      sum += tasks.back().get();
      tasks.pop_back();
    }
  };
  if (order == 2) {
    std::thread(fetch).join();
  } else {
    fetch();
  }
  return sum;
}

// Small tasks, `width` at a time, until a task that was pending before has run.
inline void window(Id width, const std::atomic<bool>& end) {
  std::deque<subject::future<Id>> tasks;
  for (Id made = 0, fetched = 0; !end || !tasks.empty();) {
    if (!end) tasks.push_back(subject::async(subject::launch::async, [made] { return made; }));
    if (!end) ++made;
    if (tasks.size() < width && !end) continue;
    if (tasks.empty()) break;
    require(tasks.front().get() == fetched++, "a small task of a window");
    tasks.pop_front();
  }
}
inline std::uint64_t windows(Id width, Id count) {
  std::atomic<bool> end = false;
  auto ending = subject::async(subject::launch::async, [&end] { end = true; });
  auto third = subject::async(subject::launch::async, [&] {
    if (count > 2) window(width, end);
  });
  std::thread second([&] {
    if (count > 1) window(width, end);
  });
  window(width, end);
  second.join();
  third.get();
  ending.get();
  return count;
}

inline std::uint64_t storm(Id count, Id mutexes) {
  struct Guarded {
    subject::mutex mutex;
    std::uint64_t sum = 0;
  };
  std::vector<Guarded> all(mutexes);
  std::vector<subject::future<void>> tasks;
  for (Id i = 0; i < count; ++i) {
    tasks.push_back(subject::async(subject::launch::async, [&all, i, mutexes] {
      Guarded &one = all[i % mutexes], &other = all[(i * 2 + 1) % mutexes];
      if (&one == &other) {
        const subject::scoped_lock lock(one.mutex);
        one.sum += 2;
        return;
      }
      const subject::scoped_lock lock(one.mutex, other.mutex);
      one.sum += subject::async([] { return 1u; }).get();
      ++other.sum;
    }));
  }
  for (auto& each : tasks) each.get();
  std::uint64_t sum = 0;
  for (const Guarded& each : all) sum += each.sum;
  return sum;
}

// Calls `inner` above `bytes` bytes of locals in use.
template <class F>
[[gnu::noinline]] std::uint64_t above(Id bytes, const F& inner) {
  constexpr Id kPart = 1u << 16;
  char locals[kPart];
  for (Id i = 0; i < kPart; i += 1024) locals[i] = static_cast<char>(i + bytes);
  asm volatile("" : : "r"(locals) : "memory");
  const std::uint64_t value = bytes > kPart ? above(bytes - kPart, inner) : std::uint64_t{inner()};
  asm volatile("" : : "r"(locals) : "memory");
  for (Id i = 0; i < kPart; i += 1024) {
    require(locals[i] == static_cast<char>(i + bytes), "locals were overwritten");
  }
  return value;
}
inline std::uint64_t recurse(Id depth, Id bytes) {
  if (depth == 0) return 0;
  return above(bytes, [&] {
    return 1 + subject::async(subject::launch::async, recurse, depth - 1, bytes).get();
  });
}

template <class F>
std::uint64_t in_child(const F& body) {
  const pid_t child = fork();
  if (child == 0) _exit(static_cast<int>(body()));
  int status = 0;
  while (waitpid(child, &status, 0) < 0) require(errno == EINTR, "waitpid");
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return static_cast<std::uint64_t>(code);
}
inline std::uint64_t fork_and(Id what) {
  return in_child([what]() -> std::uint64_t {
    switch (what) {
      case kForkFib:
        return fib(9, 0);
      case kForkCrowd:
        return crowd(5, kLatch, 0);
      case kForkWindow:
        return windows(3, 2);
      case kForkPool: {
        subject::pool pool(2);
        return pool.run([] { return fib(8, 1); });
      }
      default:
        return 7;
    }
  });
}
inline std::uint64_t execute(Id what) {
  return in_child([what]() -> std::uint64_t {
    if (what == kExecTerminated) execl("/bin/sh", "sh", "-c", "kill -TERM $$; exit 9", nullptr);
    const char* const path = what == kExecTrue ? "/bin/true" : "/bin/false";
    execl(path, path, nullptr);
    return 127;
  });
}

// ---- signals ----

inline thread_local constinit std::atomic<Id> raised_here = 0, killed_here = 0;
inline constinit std::atomic<Id> kills_handled = 0;
inline int process_signal() { return SIGRTMIN + 1; }
inline int thread_signal() { return SIGRTMIN + 2; }

inline void handle(int signal, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  sigaction(signal, &action, nullptr);
}
inline void handle_signals(bool timer) {
  handle(SIGUSR1, [](int) { ++raised_here; });
  handle(process_signal(), [](int) { ++kills_handled; });
  handle(thread_signal(), [](int) { ++killed_here; });
  handle(SIGALRM, [](int) {});
  const itimerval each_ms{{0, 1000}, {0, 1000}};
  if (timer) setitimer(ITIMER_REAL, &each_ms, nullptr);
}
inline void raise_here(Id how) {
  const Id before = raised_here;
  if (how == 0) {
    std::raise(SIGUSR1);
  } else {
    pthread_kill(pthread_self(), SIGUSR1);
  }
  require(raised_here != before, "a signal that a task raised came to no handler");
}

}  // namespace random_programs
