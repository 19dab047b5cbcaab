// The definitions.
#include "progress.hpp"

#include <cstdio>

namespace students {

Progress::~Progress() {
  if (printed_) std::fputs("\r\x1b[K", stderr);
}

void Progress::show(std::uint64_t more) {
  const std::lock_guard lock(mutex_);
  done_ += more;
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + std::chrono::milliseconds(200);
  printed_ = true;
  const double elapsed_s = std::chrono::duration<double>(now - start_).count();
  const double done = static_cast<double>(done_) / unit_.count;
  const double total = static_cast<double>(total_) / unit_.count;
  const double rate = done / elapsed_s;
  std::fprintf(stderr, "\r%.0f of %.0f %s (%.0f %%), %.0f %s/s, %.0f s left\x1b[K", done, total,
               unit_.name, 100 * done / total, rate, unit_.name, (total - done) / rate);
  std::fflush(stderr);
}

}  // namespace students
