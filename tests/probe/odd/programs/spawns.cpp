// Starts other programs in every way: vfork, posix_spawn, system, popen. Their environment and
// descriptors, and the thread that waits for them, are the same as alone.
#include <spawn.h>
#include <sys/wait.h>

#include "odd.hpp"

extern char** environ;

namespace {

char shell[] = "/bin/sh", flag[] = "-c";
char script[] = "env | sort; ls /proc/self/fd | tr '\\n' ' '; exit 5";
char* words[] = {shell, flag, script, nullptr};

void report(const char* how, int status) {
  say("%s: exited %d with %d", how, WIFEXITED(status), WEXITSTATUS(status));
}

int end_of(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

int main() {
  contend(3, 200);
  int local = 1;
  const pid_t forked = vfork();
  if (forked == 0) {
    execve(shell, words, environ);
    _exit(9);
  }
  report("vfork", end_of(forked));
  const pid_t failed = vfork();
  if (failed == 0) {
    execlp("/no/such/program", "x", static_cast<char*>(nullptr));
    local += errno == ENOENT;
    _exit(42);
  }
  report("vfork without a program", end_of(failed));
  char* own[] = {script + std::strlen(script), nullptr};  // an empty variable
  char given[] = "GIVEN=1";
  own[0] = given;
  pid_t spawned = 0;
  const int error = posix_spawn(&spawned, shell, nullptr, nullptr, words, own);
  const int ended = end_of(spawned);  // the line below must not come between the shell's
  say("posix_spawn: %d", error);
  report("posix_spawn", ended);
  say("posix_spawnp: %s",
      name_of(posix_spawnp(&spawned, "no-such-program", nullptr, nullptr, words, own)));
  report("system", std::system("env | wc -l; exit 3"));
  std::FILE* pipe = popen("env | grep -c -e THREADMARK -e LD_PRELOAD", "r");
  char line[64] = "";
  if (pipe == nullptr || std::fgets(line, sizeof line, pipe) == nullptr) return 3;
  report("popen", pclose(pipe));
  say("changed here %d; variables of ours there %s", local, line);
  contend(3, 200);
}
