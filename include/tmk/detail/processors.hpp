// The number of processors that the process may really use, from its affinity mask and the quota of
// its cgroup, or from TMK_NUM_THREADS instead.
#pragma once

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

namespace tmk::detail {

// Processors that the cgroup's quota allows, rounded up; INT_MAX without a quota. Reads v2 cpu.max
// along the process's path and v1 cpu.cfs_quota_us at their usual mount points. `root` is a prefix
// of all file names.
[[gnu::noinline, gnu::cold]] inline int quota_processors(const std::string& root = "") {
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
[[gnu::noinline, gnu::cold]] inline cpu_set_t processors_of(pid_t thread) {
  cpu_set_t set;
  if (sched_getaffinity(thread, sizeof set, &set) != 0) CPU_ZERO(&set);
  return set;
}

// Whether a woken thread should begin on another processor than its waker's. TMK_AFFINITY=0 leaves
// it to the kernel.
inline bool keeps_woken_threads_away() {
  const char* const text = std::getenv("TMK_AFFINITY");
  return text == nullptr || std::string_view(text) != "0";
}

// Takes the caller's processor off the set. False: the processor is not in the set, or is the only
// one there.
inline bool take_off_this_processor(cpu_set_t& set) {
  const int here = sched_getcpu();
  if (here < 0 || here >= CPU_SETSIZE || !CPU_ISSET(here, &set)) return false;
  CPU_CLR(here, &set);
  return CPU_COUNT(&set) != 0;
}

// While this object lives, the sleeping thread may not begin on the caller's processor. Some
// kernels would put the thread there, so it would begin in the caller's place or after the caller,
// and not beside it. Afterwards the thread may use its former processors, or those that another
// thread has set meanwhile. A thread has at most one such object at a time.
class KeptAway {
 public:
  explicit KeptAway(pid_t thread)
      : thread_(thread), allowed_(processors_of(thread)), others_(allowed_) {
    kept_ = take_off_this_processor(others_) &&
            sched_setaffinity(thread, sizeof others_, &others_) == 0;
  }
  KeptAway(const KeptAway&) = delete;
  KeptAway& operator=(const KeptAway&) = delete;
  ~KeptAway() {
    if (!kept_) return;
    const cpu_set_t now = processors_of(thread_);
    if (CPU_EQUAL(&now, &others_)) sched_setaffinity(thread_, sizeof allowed_, &allowed_);
  }

 private:
  const pid_t thread_;
  const cpu_set_t allowed_;
  cpu_set_t others_;
  bool kept_ = false;
};

// The number of processors in a set or, if the set is empty, in the system.
inline unsigned allowed_processors(const cpu_set_t& set) {
  const int counted = CPU_COUNT(&set);
  const long allowed = counted != 0 ? counted : sysconf(_SC_NPROCESSORS_ONLN);
  return static_cast<unsigned>(std::max(1L, allowed));
}

// Threads that can really run at once: TMK_NUM_THREADS, else the affinity mask and the quota. At
// least 1.
[[gnu::noinline, gnu::cold]] inline unsigned usable_processors(
    const cpu_set_t& set = processors_of(0)) {
  if (const char* text = std::getenv("TMK_NUM_THREADS")) {
    char* end = nullptr;
    const long wanted = std::strtol(text, &end, 10);
    if (*end == '\0' && wanted >= 1 && wanted <= 4096) return static_cast<unsigned>(wanted);
  }
  return std::max(1u, std::min(allowed_processors(set), static_cast<unsigned>(quota_processors())));
}

}  // namespace tmk::detail
