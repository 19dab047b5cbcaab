// The stress tests where the kernel refuses membarrier, so that the owner of a deque always takes
// the slow path.
#include <dlfcn.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdarg>

#include "deque_stress_test.cpp"
#include "stress_test.cpp"

// In place of the C library's, for this program.
extern "C" long syscall(long number, ...) noexcept {
  if (number == SYS_membarrier) {
    errno = EPERM;
    return -1;
  }
  std::va_list list;
  va_start(list, number);
  long arguments[6];
  for (long& argument : arguments) argument = va_arg(list, long);
  va_end(list);
  using Syscall = long (*)(long, ...);
  // No constant: what guards its initialisation in libc++ comes here, too.
  static constinit std::atomic<Syscall> known = nullptr;
  Syscall real = known;
  if (real == nullptr) known = real = reinterpret_cast<Syscall>(dlsym(RTLD_NEXT, "syscall"));
  return real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
              arguments[5]);
}

TEST(Symmetric, the_kernel_has_refused_membarrier) { EXPECT_FALSE(tmk::detail::has_membarrier); }
