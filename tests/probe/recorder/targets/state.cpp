// Prints all of its state that a recorder could change, and nothing that changes between runs.
#include <dirent.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

int main(int, char** words) {
  std::vector<std::string> found;
  DIR* folder = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(folder)) {
    if (atoi(entry->d_name) != dirfd(folder)) found.push_back(entry->d_name);
  }
  closedir(folder);
  std::sort(found.begin(), found.end());
  for (const std::string& number : found) std::printf("fd %s\n", number.c_str());

  found.clear();
  for (char** each = environ; *each != nullptr; ++each) found.push_back(*each);
  for (const std::string& variable : found) std::printf("env %s\n", variable.c_str());

  sigset_t mask;
  sigprocmask(SIG_BLOCK, nullptr, &mask);
  for (int signal = 1; signal < 65; ++signal) {
    struct sigaction is{};
    const bool valid = sigaction(signal, nullptr, &is) == 0;
    std::printf("signal %d %d %d\n", signal, sigismember(&mask, signal),
                valid && is.sa_handler == SIG_IGN);
  }
  for (int limit = 0; limit < RLIM_NLIMITS; ++limit) {
    rlimit is{};
    getrlimit(static_cast<__rlimit_resource_t>(limit), &is);
    std::printf("limit %d %lu %lu\n", limit, is.rlim_cur, is.rlim_max);
  }
  cpu_set_t cpus;
  sched_getaffinity(0, sizeof cpus, &cpus);
  std::printf("nice %d cpus %d slack %d dumpable %d policy %d\n", nice(0), CPU_COUNT(&cpus),
              prctl(PR_GET_TIMERSLACK), prctl(PR_GET_DUMPABLE), sched_getscheduler(0));
  std::printf("group %d session %d\n", getpgrp(), getsid(0));
  std::printf("words %s\n", words[0]);
}
