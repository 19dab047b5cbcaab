// Starts and ends shells.
#include "shell_command.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace threadmark {

void ShellCommand::start(const std::string& command, const Signals& signals) {
  end();
  status_ = 127;
  const pid_t made = ::fork();
  if (made != 0) {
    pid_ = made > 0 ? made : 0;
    return;
  }
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::prctl(PR_SET_TIMERSLACK, 50'000);                 // the recorder has less
  const int nothing = ::open("/dev/null", O_RDONLY);  // only the target reads from the terminal
  if (nothing > 0) ::dup2(nothing, 0);
  signals.restore();
  ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
  ::_exit(127);
}

bool ShellCommand::runs() {
  if (pid_ == 0) return false;
  int how = 0;
  if (::waitpid(pid_, &how, WNOHANG) != pid_) return true;
  status_ = WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
  pid_ = 0;
  return false;
}

void ShellCommand::end() {
  if (!runs()) return;
  ::kill(-pid_, SIGTERM);
  ::kill(pid_, SIGTERM);  // the shell may not have its group yet
  const timespec moment{0, 10'000'000};
  for (int i = 0; i < 50 && runs(); ++i) ::nanosleep(&moment, nullptr);
  if (!runs()) return;
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
}

}  // namespace threadmark
