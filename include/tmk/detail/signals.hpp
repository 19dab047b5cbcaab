// The signals that a thread blocks, as the bits of one word.
#pragma once

#include <csignal>
#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace tmk::detail {

// Signals as bits: all from 1 to 64, except the signals that a thread's own actions raise and those
// that the C library keeps for itself (glibc does not let a program block them, musl does).
inline constexpr std::uint64_t kForeignSignals = [] {
  std::uint64_t all = ~std::uint64_t{0};
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGPROF, 32, 33, 34}) {
    all &= ~(std::uint64_t{1} << (own - 1));
  }
  return all;
}();
// blocked_signals() returns the signals that the calling thread blocks. block_signals() makes the
// thread block exactly the given signals.
inline std::uint64_t blocked_signals() {
  sigset_t set;
  std::uint64_t mask = 0;
  sigemptyset(&set);
  pthread_sigmask(SIG_BLOCK, nullptr, &set);
  std::memcpy(&mask, &set, sizeof mask);  // a set begins with its first 64 bits
  return mask;
}
inline void block_signals(std::uint64_t mask) {
  sigset_t set;
  sigemptyset(&set);
  std::memcpy(&set, &mask, sizeof mask);
  pthread_sigmask(SIG_SETMASK, &set, nullptr);
}

}  // namespace tmk::detail
