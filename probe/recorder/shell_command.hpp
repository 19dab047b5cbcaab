// A command of the shell that runs beside the target: one that asks whether a server is ready, or
// one that loads it. It is in a group of its own, so that it ends with all that it started.
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

  // Its status is 127 where no process could be made.
  void start(const std::string& command, const Signals& signals);
  // Whether it was started and has not ended.
  bool runs();
  void end();
  // Of the last that ended: as the shell has it, 128 more than a signal; -1: none has.
  int status() const { return status_; }

 private:
  pid_t pid_ = 0;  // 0: none runs
  int status_ = -1;
};

}  // namespace threadmark
