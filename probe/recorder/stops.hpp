// Samples of running threads where the kernel refuses perf events: the recorder stops a thread for
// a moment with ptrace, and reads its registers and stack.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "entries.hpp"
#include "unwinding.hpp"

namespace threadmark {

class Stops {
 public:
  enum class Outcome { taken, none, refused };

  // The exit of a child of the recorder is left for another reader.
  void leave_exit(pid_t child) { child_ = child; }
  // Samples a thread that runs. `stack` refers to `bytes`. None: the thread ended, is late to stop,
  // or waited in a system call.
  Outcome sample(pid_t tid, Sample& sample, StackCopy& stack, std::vector<char>& bytes);
  // Samples the threads that have stopped late and lets them go. `each` gets their samples.
  void release(const std::function<void(Sample&, const StackCopy&)>& each);
  int error() const { return error_; }

 private:
  enum class State { stopped, late, gone };
  // `signal`: the one that was about to be delivered to the thread, which must not be lost.
  State await_stop(pid_t tid, int options, int& signal) const;
  // Samples a stopped thread and lets it go. False: it waited in a system call.
  static bool take(pid_t tid, int signal, Sample& sample, StackCopy& stack,
                   std::vector<char>& bytes);

  pid_t child_ = 0;
  std::vector<pid_t> late_;
  int error_ = 0;
};

}  // namespace threadmark
