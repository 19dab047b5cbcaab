// Starts the target so that its state differs from a start without the recorder only by the two
// variables that the agent removes.
#pragma once

#include <csignal>
#include <string>
#include <vector>

#include "system.hpp"

namespace threadmark {

// Reads from a program's file whether a library can be preloaded into it. Returns the sentence for
// `limits` if not. Else the sentence is empty, and the names of the libraries that must come before
// the agent are set, each with a colon behind it.
std::string why_not_preloadable(const std::string& program, const std::string& agent,
                                std::string& runtimes);

// The signals of the recorder: their former state, and the state that the recorder needs.
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
  // Lets the child begin. Returns 0, or the error of execve.
  int begin();
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  Descriptor go_, failure_;
};

// The recorder's environment with `changes`, each NAME=VALUE, in the place of its own values.
std::vector<std::string> environment_of_target(const std::vector<std::string>& changes);
// An environment with the two variables: the preloaded library with `libraries` behind it, and the
// place of the mapping.
std::vector<std::string> environment_with(std::vector<std::string> variables,
                                          const std::string& libraries, const std::string& mapping);

// Opens descriptors 0, 1 and 2 if they are closed, so that no file of the recorder gets their
// number.
void reserve_standard_streams();

}  // namespace threadmark
