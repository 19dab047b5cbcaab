// Forks while other threads contend. The children go on without exec, with locks, threads and
// descriptors of their own.
#include <dirent.h>
#include <sys/wait.h>

#include <atomic>

#include "odd.hpp"

extern char** environ;

namespace {

int child() {
  int files = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (folder != nullptr && readdir(folder) != nullptr) ++files;
  if (folder != nullptr) closedir(folder);
  int variables = 0;
  while (environ[variables] != nullptr) ++variables;
  const long counted = contend(2, 100);
  return counted == 200 && getenv("THREADMARK_PROBE") == nullptr ? files + variables * 16 : 250;
}

}  // namespace

int main() {
  int variables = 0;
  while (environ[variables] != nullptr) ++variables;
  std::atomic<bool> over{false};
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  const auto noise = [&] {
    while (!over) {
      pthread_mutex_lock(&mutex);
      sleep_us(50);
      pthread_mutex_unlock(&mutex);
    }
  };
  const pthread_t one = begin(noise), two = begin(noise);
  int files = 0, same = 0;
  for (int i = 0; i < 12; ++i) {
    const pid_t pid = fork();
    if (pid == 0) _exit(child() % 251);
    int status = 0;
    waitpid(pid, &status, 0);
    if (!WIFEXITED(status)) say("a child died by signal %d", WTERMSIG(status));
    const int seen = WEXITSTATUS(status);
    if (i == 0) files = seen;
    same += seen == files;
  }
  over = true;
  pthread_join(one, nullptr);
  pthread_join(two, nullptr);
  say("first child: %d descriptors; %d children of 12 alike", files - variables * 16 % 251, same);
}
