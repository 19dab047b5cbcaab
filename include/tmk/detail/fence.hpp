// The asymmetric fence. light_fence(), on the side that runs often, is a compiler barrier alone,
// because heavy_fence(), on the other side, makes every running thread of the process pass a full
// fence. If the kernel refuses membarrier from the start, has_membarrier is false and the owner's
// side always takes its slow path. If the kernel refuses it later, the owners go on without fences,
// so heavy_fence() has to reach them in another way.
#pragma once

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <iterator>

#include "assertion.hpp"
#include "compiler.hpp"

namespace tmk::detail {

inline bool register_membarrier() {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}
inline const bool has_membarrier = register_membarrier();

inline void full_fence() {
#if TMK_TSAN  // gcc refuses fences under ThreadSanitizer; a read-modify-write of a private word is
              // one on x86 and arm
  std::atomic<int> word{0};
  word.fetch_add(1);
#else
  // ORDER full-fence: seq_cst, pairs with full-fence. The symmetric form of the argument in
  // scheduler.md.
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}
inline void light_fence() {
  // ORDER light-fence: seq_cst, pairs with heavy-fence. It binds the compiler alone.
  std::atomic_signal_fence(std::memory_order_seq_cst);
}
// The caller visits each processor that the process may use, one after the other. A thread that ran
// on such a processor has been switched out meanwhile, and a switch is a full fence. False: the
// system refuses.
inline bool visit_processors() {
  unsigned long before[128];  // 8,192 processors; cpu_set_t has room for 1,024
  auto* const mask = reinterpret_cast<cpu_set_t*>(before);
  if (sched_getaffinity(0, sizeof before, mask) != 0) return false;
  bool visited = false;
  constexpr std::size_t kBits = CHAR_BIT * sizeof(unsigned long);
  static const auto processors = static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_CONF));
  for (std::size_t processor = 0; processor < std::min(processors, kBits * std::size(before));
       ++processor) {
    unsigned long only[std::size(before)] = {};
    only[processor / kBits] = 1ul << processor % kBits;
    if (sched_setaffinity(0, sizeof only, reinterpret_cast<cpu_set_t*>(only)) == 0) {
      visited = true;
    } else if (errno != EINVAL) {  // EINVAL: there is no such processor, or not for us
      visited = false;
      break;
    }
  }
  sched_setaffinity(0, sizeof before, mask);
  return visited;
}
[[gnu::noinline, gnu::cold]] inline void heavy_fence_after_refusal() {
  // A child of fork has to register anew, and the expedited command fails when memory is short.
  if (register_membarrier() &&
      syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) {
    return;
  }
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0 || visit_processors()) return;
  fatal(
      "the system granted membarrier and refuses it now, and sched_setaffinity, too; install the "
      "filter of system calls before the first use of tmk, or let it pass membarrier");
}
[[gnu::noinline]] inline void heavy_fence() {
  if (!has_membarrier) return full_fence();
  // ORDER heavy-fence: seq_cst, pairs with light-fence. The kernel runs it for every thread.
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0) [[unlikely]] {
    heavy_fence_after_refusal();
  }
}

}  // namespace tmk::detail
