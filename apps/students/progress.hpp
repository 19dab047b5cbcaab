// How far a run is, on a terminal: students, rate and time left, a few times a second.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>

namespace students {

class Progress {
 public:
  // Shows nothing unless `shown`.
  Progress(std::uint64_t students, bool shown) : total_(students), shown_(shown) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();  // clears its line

  // So many more students are written. Any thread may call it.
  void advance(std::uint64_t students) {
    if (shown_) show(students);
  }

 private:
  using Clock = std::chrono::steady_clock;

  void show(std::uint64_t students);

  std::uint64_t total_;
  bool shown_;
  std::mutex mutex_;  // of what follows
  std::uint64_t done_ = 0;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_ = start_ + std::chrono::milliseconds(200);
  bool printed_ = false;
};

}  // namespace students
