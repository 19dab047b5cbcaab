// cases: process, thread
// Makes processes and threads with clone() itself. They share the memory, also the maker's words of
// the C library, while they call wrapped functions.
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <atomic>

#include "odd.hpp"

namespace {

std::atomic<int> result{0}, gone{1};
int pipes[2];

int work(void*) {
  pollfd none{pipes[0], POLLIN, 0};
  int sum = poll(&none, 1, 1);
  const timespec time{0, 200'000};
  for (int i = 0; i < 5; ++i) sum += nanosleep(&time, nullptr);
  sum += static_cast<int>(write(pipes[1], "abc", 3));
  char text[3];
  sum += static_cast<int>(read(pipes[0], text, 3));
  result += sum;
  return 6;
}

}  // namespace

int main(int, char** words) {
  if (pipe(pipes) != 0) return 3;
  constexpr std::size_t kSize = 65536;
  contend(2, 100);
  const bool thread = std::strcmp(words[1], "thread") == 0;
  int statuses = 0;
  for (int i = 0; i < 20; ++i) {
    char* stack = static_cast<char*>(mmap(nullptr, kSize, PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0));
    if (!thread) {
      const pid_t pid = clone(work, stack + kSize, CLONE_VM | CLONE_FILES | SIGCHLD, nullptr);
      int status = 0;
      waitpid(pid, &status, 0);
      statuses += WEXITSTATUS(status);
    } else {
      gone = 1;
      const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                        CLONE_SYSVSEM | CLONE_CHILD_CLEARTID;
      const int tid = clone(work, stack + kSize, flags, nullptr, nullptr, nullptr, &gone);
      if (tid < 0) return 4;
      while (gone != 0) syscall(SYS_futex, &gone, 0, 1, nullptr, nullptr, 0);
      statuses += 6;
    }
    munmap(stack, kSize);
  }
  say("statuses %d, sum %d, counted %ld", statuses, result.load(), contend(2, 100));
}
