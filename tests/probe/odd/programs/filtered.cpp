// cases: prctl, function, instruction
// known instruction: the agent cannot see that an instruction of the program sets a filter
// A filter of system calls, set by prctl, by the function syscall, or by an instruction of the
// program. Under it each call that the program does not make itself is one too many.
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <vector>

#include "odd.hpp"

namespace {

struct Rule {
  unsigned short code;
  unsigned char yes, no;
  unsigned number;
};
struct Filter {
  unsigned short length;
  const Rule* rules;
};

long by_instruction(long number, long a, long b, const void* c) {
#if defined(__x86_64__)
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c)
               : "rcx", "r11", "memory");
  return result;
#else
  return syscall(number, a, b, c);
#endif
}

bool set(const char* how, const Filter& filter) {
  if (std::strcmp(how, "prctl") == 0)
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
  if (std::strcmp(how, "function") == 0)
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0;
  return by_instruction(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0;
}

}  // namespace

int main(int, char** words) {
  // Calls for memory and for threads, and the calls of the threads below.
  std::vector<Rule> rules{{0x20, 0, 0, 0}};
  for (const long call :
       {SYS_futex, SYS_exit, SYS_exit_group, SYS_write, SYS_madvise, SYS_mmap, SYS_munmap,
        SYS_mprotect, SYS_brk, SYS_rseq, SYS_set_robust_list, SYS_clone, SYS_clone3,
        SYS_rt_sigprocmask, SYS_clock_nanosleep, SYS_sched_yield}) {
    rules.push_back({0x15, 0, 1, static_cast<unsigned>(call)});
    rules.push_back({0x06, 0, 0, SECCOMP_RET_ALLOW});
  }
  rules.push_back({0x06, 0, 0, SECCOMP_RET_KILL_PROCESS});
  const Filter filter{static_cast<unsigned short>(rules.size()), rules.data()};
  const pthread_t earlier = begin([] { sleep_us(3'000); });
  contend(2, 100);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !set(words[1], filter)) return 3;
  pthread_join(earlier, nullptr);
  say("counted %ld", contend(4, 200));
}
