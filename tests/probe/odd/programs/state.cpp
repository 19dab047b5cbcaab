// The state that a process gets and can ask for: arguments, its environment byte by byte,
// descriptors, limits, signals, attributes. It has no thread, child, timer or tracer but its own.
#include <dirent.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "odd.hpp"

extern char** environ;

int main(int count, char** words) {
  for (int i = 0; i < count; ++i) say("word %s", i == 0 ? "" : words[i]);
  for (char** at = environ; *at != nullptr; ++at) say("variable %s", *at);
  std::ifstream variables("/proc/self/environ");
  for (std::string each; std::getline(variables, each, '\0');) say("seen %s", each.c_str());
  std::vector<int> files;
  DIR* folder = opendir("/proc/self/fd");
  while (const dirent* each = readdir(folder)) {
    const int file = std::atoi(each->d_name);
    if (each->d_name[0] != '.' && file != dirfd(folder)) files.push_back(file);
  }
  say("the list itself: %d", dirfd(folder));
  closedir(folder);
  std::sort(files.begin(), files.end());
  for (const int file : files) {
    struct stat is{};
    fstat(file, &is);
    say("descriptor %d: kind %o", file, is.st_mode & S_IFMT);
  }
  for (int i = 0; i < RLIMIT_NLIMITS; ++i) {
    rlimit limit{};
    getrlimit(static_cast<__rlimit_resource_t>(i), &limit);
    say("limit %d: %llu %llu", i, static_cast<unsigned long long>(limit.rlim_cur),
        static_cast<unsigned long long>(limit.rlim_max));
  }
  for (int i = 1; i < NSIG; ++i) {
    struct sigaction is{};
    if (sigaction(i, nullptr, &is) == 0 && is.sa_handler != SIG_DFL) say("signal %d is handled", i);
  }
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    for (const char* key : {"Threads:", "TracerPid:", "SigPnd:", "ShdPnd:", "SigBlk:", "SigIgn:",
                            "SigCgt:", "NoNewPrivs:", "Seccomp:", "Umask:", "Uid:", "Cap"})
      if (line.rfind(key, 0) == 0) say("%s", line.c_str());
  std::ifstream timers("/proc/self/timers");
  for (std::string line; std::getline(timers, line);) say("timer %s", line.c_str());
  int signal = -1, reaper = -1;
  prctl(PR_GET_PDEATHSIG, &signal);
  prctl(PR_GET_CHILD_SUBREAPER, &reaper);
  say("dumpable %d, death signal %d, reaper %d, slack %d, keeps rights %d", prctl(PR_GET_DUMPABLE),
      signal, reaper, prctl(PR_GET_TIMERSLACK), prctl(PR_GET_KEEPCAPS));
  say("priority %d, child: %s", getpriority(PRIO_PROCESS, 0),
      waitpid(-1, nullptr, WNOHANG) < 0 ? name_of(errno) : "there");
  say("name %s", program_invocation_short_name);
}
