// The definitions.
#include "progress.hpp"

#include <cstdio>

namespace students {

Progress::~Progress() {
  if (printed_) std::fputs("\r\x1b[K", stderr);
}

void Progress::show(std::uint64_t students) {
  const std::lock_guard lock(mutex_);
  done_ += students;
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + std::chrono::milliseconds(200);
  printed_ = true;
  const double elapsed_s = std::chrono::duration<double>(now - start_).count();
  const double rate = static_cast<double>(done_) / elapsed_s;
  const double left_s = static_cast<double>(total_ - done_) / rate;
  std::fprintf(stderr, "\r%llu of %llu students (%.0f %%), %.0f students/s, %.0f s left\x1b[K",
               static_cast<unsigned long long>(done_), static_cast<unsigned long long>(total_),
               100 * static_cast<double>(done_) / static_cast<double>(total_), rate, left_s);
  std::fflush(stderr);
}

}  // namespace students
