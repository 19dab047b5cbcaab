// The services of the system that tmk uses: futexes, the asymmetric fence, the processors that the
// process may really use, stacks, signal masks, the use that a thread makes of its processor, and a
// hold on the module that the code lies in. Linux only; everything else is standard C++.
#pragma once

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <climits>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>

#if defined(__SANITIZE_THREAD__)
#define TMK_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TMK_TSAN 1
#endif
#endif
#ifndef TMK_TSAN
#define TMK_TSAN 0
#endif

// For what must be a part of its caller: the future then lives in registers.
#define TMK_INLINE [[gnu::always_inline]] inline

// A variable that each thread has at a fixed distance from its stack, so that no call is needed to
// find it. musl has no such places for what dlopen loads.
#if defined(__GLIBC__)
#define TMK_THREAD_LOCAL [[gnu::tls_model("initial-exec")]] inline thread_local constinit
#else
#define TMK_THREAD_LOCAL inline thread_local constinit
#endif

// The invariants of scheduler.md, checked in programs that define TMK_ASSERTIONS. All sources of a
// program must agree on it.
#ifdef TMK_ASSERTIONS
#define TMK_ASSERT(holds) ((holds) ? void() : ::tmk::detail::fatal(__FILE__ ": " #holds))
#else
#define TMK_ASSERT(holds) static_cast<void>(0)
#endif

namespace tmk::detail {

// Ends the process, because going on would compute something wrong.
[[noreturn, gnu::cold]] inline void fatal(const char* reason) {
  std::fprintf(stderr, "tmk: %s\n", reason);
  std::abort();
}

// Waits while word == expected, until the deadline of the monotonic clock (null: for ever). May
// return at any time; false: the deadline has passed. A wake is for those whose masks share a bit
// with its own.
inline bool futex_wait_until(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                             const timespec* deadline,
                             std::uint32_t mask = FUTEX_BITSET_MATCH_ANY) {
  return syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, expected, deadline, nullptr, mask) ==
             0 ||
         errno != ETIMEDOUT;
}
inline void futex_wake(const std::atomic<std::uint32_t>& word, int threads,
                       std::uint32_t mask = FUTEX_BITSET_MATCH_ANY) {
  syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, threads, nullptr, nullptr, mask);
}

// The deadline that is so much from now.
inline timespec in(std::chrono::nanoseconds time) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const auto sum = std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec) + time;
  const auto whole = std::chrono::floor<std::chrono::seconds>(sum);
  return {.tv_sec = static_cast<time_t>(whole.count()),
          .tv_nsec = static_cast<long>((sum - whole).count())};
}

// The asymmetric fence: light_fence() on the side that runs often is nothing but a compiler
// barrier, because heavy_fence() on the other side makes every running thread of the process pass a
// full fence. Where the kernel refuses membarrier from the start, the owner's side always takes its
// slow path. Where it refuses later, the owners go on without fences, so heavy_fence() has to reach
// them in another way.
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
  // ORDER light-fence: seq_cst, pairs with heavy-fence. Of the compiler alone.
  std::atomic_signal_fence(std::memory_order_seq_cst);
}
// Runs on each processor that the process may use, one after the other. A thread that ran on one of
// them has been switched out meanwhile, and a switch is a full fence. False: the system refuses.
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
    } else if (errno != EINVAL) {  // which says that there is no such processor, or not for us
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
inline void heavy_fence() {
  if (!has_membarrier) return full_fence();
  // ORDER heavy-fence: seq_cst, pairs with light-fence. Through the kernel, for every thread.
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0) [[unlikely]] {
    heavy_fence_after_refusal();
  }
}

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Processors that the cgroup's quota allows, rounded up; INT_MAX without a quota. Reads v2 cpu.max
// along the process's path and v1 cpu.cfs_quota_us where they are usually mounted. `root` goes
// before the names of all files.
inline int quota_processors(const std::string& root = "") {
  const auto limit = [](double quota, double period) {
    const double processors = (quota + period - 1) / period;
    return quota > 0 && period > 0 && processors < INT_MAX ? static_cast<int>(processors) : INT_MAX;
  };
  int result = INT_MAX;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    const bool v2 = controllers.empty();
    if (!v2 && ("," + controllers + ",").find(",cpu,") == std::string::npos) continue;
    for (std::size_t slash = 0;; path.erase(slash)) {
      for (const char* mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/cpu",
                                "/sys/fs/cgroup/cpu,cpuacct"}) {
        const std::string group = root + mount + path;
        std::string quota;
        double period = 0;
        if (v2) {
          std::ifstream file(group + "/cpu.max");
          if (!(file >> quota >> period) || quota == "max") continue;
        } else {
          std::ifstream quota_file(group + "/cpu.cfs_quota_us");
          std::ifstream period_file(group + "/cpu.cfs_period_us");
          if (!(quota_file >> quota) || !(period_file >> period)) continue;
        }
        result = std::min(result, limit(std::strtod(quota.c_str(), nullptr), period));
      }
      slash = path.rfind('/');
      if (slash == std::string::npos || path == "/") break;
    }
  }
  return result;
}

// The processors that a thread may use; 0 is the caller. Empty if it may use more than cpu_set_t
// holds.
inline cpu_set_t processors_of(pid_t thread) {
  cpu_set_t set;
  if (sched_getaffinity(thread, sizeof set, &set) != 0) CPU_ZERO(&set);
  return set;
}

// Threads that can really run at once: TMK_NUM_THREADS, else the affinity mask and the quota. At
// least 1.
inline unsigned usable_processors(const cpu_set_t& set = processors_of(0)) {
  if (const char* text = std::getenv("TMK_NUM_THREADS")) {
    char* end = nullptr;
    const long wanted = std::strtol(text, &end, 10);
    if (*end == '\0' && wanted >= 1 && wanted <= 4096) return static_cast<unsigned>(wanted);
  }
  const int counted = CPU_COUNT(&set);
  const int allowed = counted != 0 ? counted : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  return static_cast<unsigned>(std::max(1, std::min(allowed, quota_processors())));
}

// Signals as bits: all from 1 to 64, except those for what a thread itself does, and those that the
// C library keeps for itself (glibc lets nobody block them, musl does not mind).
inline constexpr std::uint64_t kForeignSignals = [] {
  std::uint64_t all = ~std::uint64_t{0};
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGPROF, 32, 33, 34}) {
    all &= ~(std::uint64_t{1} << (own - 1));
  }
  return all;
}();
// The signals that the calling thread blocks; and to block these and no others.
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

// Processor time that a thread has used, in ns; -1 if it is gone. The clock's number is made as
// glibc's pthread_getcpuclockid makes it, which wants a pthread_t that is alive.
inline std::int64_t cpu_ns(pid_t thread) {
  timespec used;
  const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(thread) << 3) | 6u);
  if (clock_gettime(clock, &used) != 0) return -1;
  return std::int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
}
// The beginning of /proc/self/task/THREAD/NAME; empty if it cannot be read. Without memory from the
// heap, because the watchdog has nobody to tell that there is none.
struct ThreadFile {
  char text[512];
  ThreadFile(pid_t thread, const char* name) {
    std::snprintf(text, sizeof text, "/proc/self/task/%d/%s", static_cast<int>(thread), name);
    const int file = open(text, O_RDONLY | O_CLOEXEC);
    const ssize_t size = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0) close(file);
    text[std::max<ssize_t>(size, 0)] = '\0';
  }
};
// Whether a thread sleeps in the kernel (and is not merely without a processor).
inline bool is_asleep(pid_t thread) {
  const ThreadFile stat(thread, "stat");
  const char* const end = std::strrchr(stat.text, ')');  // the name before it may contain anything
  return end != nullptr && end[1] == ' ' && (end[2] == 'S' || end[2] == 'D');
}
// How often a thread was given a processor; 0 where the kernel does not count it.
inline std::uint64_t times_scheduled(pid_t thread) {
  const ThreadFile schedstat(thread, "schedstat");
  std::uint64_t count = 0;
  return std::sscanf(schedstat.text, "%*u %*u %" SCNu64, &count) == 1 ? count : 0;
}

// Where the stack has got to.
inline std::uintptr_t stack_pointer() {
#if defined(__x86_64__)
  std::uintptr_t here;
  asm("mov %%rsp, %0" : "=r"(here));
  return here;
#else
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
#endif
}

// The stack of a thread that is made without a wish for one: what a task of std::async has.
inline std::size_t default_stack() {
  static const std::size_t size = [] {
    pthread_attr_t attributes;
    std::size_t bytes = 0;
    pthread_attr_init(&attributes);
    pthread_attr_getstacksize(&attributes, &bytes);
    pthread_attr_destroy(&attributes);
    return bytes;
  }();
  return size;
}
// The stack of a pool's thread, which runs tasks within tasks. ThreadSanitizer can follow 65,536
// calls on one stack, and fewer addresses leave no room for large ones.
inline std::size_t pool_stack() {
  constexpr bool kLarge = TMK_TSAN == 0 && sizeof(void*) >= 8;
  return std::max(default_stack(), kLarge ? std::size_t{64} << 20 : 0);
}
// Above this address a task may begin to run in place: it then has as much stack as a thread of its
// own would have or, on a thread that has less than two of these, half as much.
TMK_THREAD_LOCAL std::uintptr_t known_stack_limit = 0;
inline std::uintptr_t stack_limit() {
  if (known_stack_limit != 0) return known_stack_limit;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  void* lowest = nullptr;
  std::size_t size = 0;
  pthread_attr_getstack(&attributes, &lowest, &size);
  pthread_attr_destroy(&attributes);
  const std::size_t task = size / 2 >= default_stack() ? default_stack() : default_stack() / 2;
  return known_stack_limit = reinterpret_cast<std::uintptr_t>(lowest) + task;
}

// Weak, so that programs which are linked statically, or without libdl where it is a library of its
// own, need not have them.
extern "C" {
[[gnu::weak]] int weak_dladdr(const void* address, Dl_info* found) __asm__("dladdr");
[[gnu::weak]] void* weak_dlopen(const char* name, int flags) __asm__("dlopen");
}
// Keeps the calling code's module in memory, because threads and the ends of threads run that code:
// dlclose of a plugin would take it from under them. Hidden, so that each module has its own. Never
// under the guard of a static variable: dlopen of another thread may hold the loader's lock and
// wait for the guard in an initialiser.
[[gnu::visibility("hidden")]] inline void keep_module_loaded() {
  static std::atomic<bool> tried{false};  // no guard: dlopen may run initialisers that come here
  if (tried.load()) return;
  Dl_info module;
  if (weak_dladdr != nullptr && weak_dlopen != nullptr &&
      weak_dladdr(reinterpret_cast<void*>(&keep_module_loaded), &module) != 0) {
    weak_dlopen(module.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  }
  tried.store(true);
}

}  // namespace tmk::detail
