// How many processors the process may really use: its affinity mask, the quota of its cgroup, or
// what TMK_NUM_THREADS says instead.
#pragma once

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <string>

namespace tmk::detail {

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

}  // namespace tmk::detail
