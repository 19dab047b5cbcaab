// The progress of a run on a terminal: students (or bytes), rate and time left, a few times a
// second.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>

namespace students {

class Progress {
 public:
  struct Unit {
    const char* name = "students";
    double count = 1;  // the unit of advance()
  };

  // Shows nothing unless `shown`.
  Progress(std::uint64_t total, bool shown) : Progress(total, shown, Unit()) {}
  Progress(std::uint64_t total, bool shown, Unit unit)
      : total_(total), shown_(shown), unit_(unit) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();  // clears its line

  // Adds `more` to the done count. Any thread may call it.
  void advance(std::uint64_t more) {
    if (shown_) show(more);
  }

 private:
  using Clock = std::chrono::steady_clock;

  void show(std::uint64_t more);

  std::uint64_t total_;
  bool shown_;
  Unit unit_;
  std::mutex mutex_;  // of the members below
  std::uint64_t done_ = 0;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_ = start_ + std::chrono::milliseconds(200);
  bool printed_ = false;
};

}  // namespace students
