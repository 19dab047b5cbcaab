// Starts the target so that nothing of its state differs from a start without the recorder but the
// two variables that the agent removes.
#pragma once

#include <csignal>
#include <string>
#include <vector>

#include "system.hpp"

namespace threadmark {

// What a program's file says about whether a library can be preloaded into it.
// Returns the sentence for `limits` if it cannot, else an empty one and the names of libraries that
// are to come before it, each with a colon behind it.
std::string why_not_preloadable(const std::string& program, const std::string& agent,
                                std::string& runtimes);

// The signals of the recorder, as they were and as it wants them.
class Signals {
 public:
  // Takes SIGINT, SIGTERM, SIGHUP, SIGQUIT (unless they are ignored) and SIGCHLD by descriptor.
  void take();
  void restore() const;  // in the child, before it becomes the target
  int descriptor() const { return descriptor_.get(); }

 private:
  sigset_t before_{};
  struct sigaction pipe_{}, size_{}, child_{};
  Descriptor descriptor_;
};

class Launch {
 public:
  // Makes a child that waits to become the target. False, with errno, if none could be made.
  bool prepare(const std::vector<std::string>& command, const std::vector<std::string>& environment,
               const Signals& signals);
  // Lets it begin. Returns 0, or the error of execve.
  int begin();
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  Descriptor go_, failure_;
};

// The recorder's environment with `changes`, each NAME=VALUE, in the place of what it has.
std::vector<std::string> environment_of_target(const std::vector<std::string>& changes);
// An environment and the two variables: what is preloaded with `libraries` behind it, and the
// mapping's place.
std::vector<std::string> environment_with(std::vector<std::string> variables,
                                          const std::string& libraries, const std::string& mapping);

// Holds 0, 1 and 2 where they are closed, so that no file of the recorder gets their number.
void reserve_standard_streams();

}  // namespace threadmark
