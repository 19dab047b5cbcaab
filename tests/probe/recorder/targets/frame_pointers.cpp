// Sleeps in a system call of its own under functions with frame pointers, like those of some
// distributions' C library. Prints like doing.cpp.
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

// Leaves addresses behind other calls in the memory of the later frames of sleeping functions.
[[gnu::noinline]] static long leave(long depth) {
  long room[8];
  asm volatile("" ::"r"(room) : "memory");
  const long below = depth == 0 ? 0 : leave(depth - 1);
  asm volatile("" ::"r"(room) : "memory");
  return below + 1;
}

// Keeps a copy of the return address, like the agent's functions do.
[[gnu::noinline]] static long sleep_in_call(long ms) {
  long room[32] = {};
  room[28] = reinterpret_cast<long>(__builtin_return_address(0));
  asm volatile("" ::"r"(room) : "memory");
  timespec time{ms / 1000, ms % 1000 * 1000000};
  long result = SYS_nanosleep;
  asm volatile("syscall" : "+a"(result) : "D"(&time), "S"(0L) : "rcx", "r11", "memory");
  return result;
}

[[gnu::noinline]] static long middle(long ms) { return sleep_in_call(ms) + 1; }

// Calls through a pointer, like most callers of a library.
[[gnu::noinline]] static long wait_below_frames(long ms, long (*below)(long)) {
  return below(ms) + 1;
}

int main() {
  long sum = 0;
  std::thread thread([&sum] {
    for (int i = 0; i < 20; ++i) sum += leave(20) + wait_below_frames(20, middle);
    std::printf("wait_below_frames %ld 0\n", syscall(SYS_gettid));
  });
  thread.join();
  return sum == 20L * 23 ? 0 : 1;
}
