// The options of the command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace threadmark {

struct Options {
  std::string output = "threadmark.record";
  std::string print;  // a record to print; empty: record
  std::string agent;  // empty: none was found
  bool agent_named = false;
  bool help = false;
  bool follow = false;
  std::int64_t pid = 0;  // a process to attach to; 0: start the command
  std::string ready;     // for the shell: succeeds when the recording may begin; empty: at once
  std::string load;      // for the shell: runs during the recording
  int stop_signal = 0;   // for the target, after the load or the duration; 0: none
  std::uint64_t delay_ns = 0;
  std::uint64_t duration_ns = 0;       // 0: to the end
  std::vector<std::string> variables;  // NAME=VALUE, for the target alone
  std::vector<std::string> command;

  bool starts_at_once() const { return ready.empty() && delay_ns == 0; }
};

// Returns a sentence about the error in the words; empty if there is none.
std::string parse(int count, char** words, Options& options);
const char* usage();

}  // namespace threadmark
