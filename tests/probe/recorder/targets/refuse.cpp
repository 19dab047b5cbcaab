// Runs a command to which the kernel refuses one system call: refuse CALL COMMAND...
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string_view>

int main(int, char** words) {
  const std::string_view name = words[1];
  const unsigned call = name == "perf_event_open"    ? SYS_perf_event_open
                        : name == "process_vm_readv" ? SYS_process_vm_readv
                        : name == "ptrace"           ? SYS_ptrace
                                                     : SYS_memfd_create;
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{4, steps};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 1;
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) return 1;
  execvp(words[2], words + 2);
  return 1;
}
