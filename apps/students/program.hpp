// What the programs of this folder are from outside: commands, one sentence for each problem, and
// an exit status.
#pragma once

#include <functional>
#include <span>

#include <CLI/CLI.hpp>

#include "complaint.hpp"

namespace students {

using Run = std::function<Status()>;

struct Entry {
  const char* name;
  const char* summary;
  Run (*add)(CLI::App& app);  // adds the options; what it returns runs the command
};

struct Program {
  const char* name;
  const char* about;
  const char* no_memory;  // the sentence where there is not enough
  std::span<const Entry> commands;
};

// Returns the exit status, or ends by the signal that ended the command.
int main_of(const Program& program, int argc, char** argv);

}  // namespace students
