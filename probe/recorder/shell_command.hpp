// A command of the shell that runs beside the target: it asks whether a server is ready, or loads
// the server. The command is in a process group of its own, so that it ends with all processes that
// it started.
#pragma once

#include <sys/types.h>

#include <string>

#include "launch.hpp"

namespace threadmark {

class ShellCommand {
 public:
  ShellCommand() = default;
  ShellCommand(const ShellCommand&) = delete;
  ShellCommand& operator=(const ShellCommand&) = delete;
  ~ShellCommand() { end(); }

  // The status is 127 if no process could be made.
  void start(const std::string& command, const Signals& signals);
  // Whether the command was started and has not ended.
  bool runs();
  void end();
  // The status of the last command that ended, in the shell's form: 128 more than a signal; -1:
  // none has ended.
  int status() const { return status_; }

 private:
  pid_t pid_ = 0;  // 0: none runs
  int status_ = -1;
};

}  // namespace threadmark
