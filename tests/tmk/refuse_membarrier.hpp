// This header replaces the C library's syscall() in one program, so that the kernel seems to refuse
// membarrier.
#pragma once

#include <dlfcn.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>

// Whether the kernel refuses this command; the including program defines it.
bool refuses_membarrier(int command);

extern "C" long syscall(long number, ...) noexcept {
  std::va_list list;
  va_start(list, number);
  long arguments[6];
  for (long& argument : arguments) argument = va_arg(list, long);
  va_end(list);
  if (number == SYS_membarrier && refuses_membarrier(static_cast<int>(arguments[0]))) {
    errno = EPERM;
    return -1;
  }
  using Syscall = long (*)(long, ...);
  // Not a constant, because libc++'s guard of its initialisation calls this function, too.
  static constinit std::atomic<Syscall> known = nullptr;
  Syscall real = known;
  if (real == nullptr) known = real = reinterpret_cast<Syscall>(dlsym(RTLD_NEXT, "syscall"));
  return real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
              arguments[5]);
}
