// Shared by the odd programs: printing, and threads of the C library with a function of C++.
#pragma once

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>

// Prints a line at once, so a program that is killed has printed its earlier lines.
[[gnu::format(printf, 1, 2)]] inline void say(const char* format, ...) {
  char line[512];
  va_list list;
  va_start(list, format);
  const int length = std::vsnprintf(line, sizeof line - 1, format, list);
  va_end(list);
  line[length] = '\n';
  if (write(STDOUT_FILENO, line, static_cast<std::size_t>(length) + 1) < 0) _exit(97);
}

// The name of an error number of errno.
inline const char* name_of(int error) {
  const char* name = strerrorname_np(error);
  return name == nullptr ? "?" : name;
}

// Begins a thread with given attributes, which std::thread cannot have.
inline pthread_t begin(std::function<void()> work, const pthread_attr_t* attributes = nullptr) {
  auto given = std::make_unique<std::function<void()>>(std::move(work));
  pthread_t thread;
  const auto routine = [](void* argument) -> void* {
    const std::unique_ptr<std::function<void()>> own(static_cast<std::function<void()>*>(argument));
    (*own)();
    return nullptr;
  };
  const int error = pthread_create(&thread, attributes, routine, given.get());
  if (error != 0) {
    say("no thread: %s", name_of(error));
    _exit(96);
  }
  static_cast<void>(given.release());
  return thread;
}

inline void sleep_us(long us) {
  const timespec time{us / 1'000'000, us % 1'000'000 * 1'000};
  nanosleep(&time, nullptr);
}

inline std::uint64_t now_us(clockid_t clock = CLOCK_MONOTONIC) {
  timespec at{};
  clock_gettime(clock, &at);
  return static_cast<std::uint64_t>(at.tv_sec) * 1'000'000 +
         static_cast<std::uint64_t>(at.tv_nsec) / 1'000;
}

// Threads that wait for one another's short holds of a mutex, so the agent has work.
inline long contend(int threads, int rounds, const pthread_attr_t* attributes = nullptr) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static long count;
  count = 0;
  pthread_t all[64];
  for (int i = 0; i < threads; ++i)
    all[i] = begin(
        [rounds] {
          for (int j = 0; j < rounds; ++j) {
            pthread_mutex_lock(&mutex);
            ++count;
            if (j % 8 == 0) sched_yield();
            pthread_mutex_unlock(&mutex);
          }
        },
        attributes);
  for (int i = 0; i < threads; ++i) pthread_join(all[i], nullptr);
  return count;
}
