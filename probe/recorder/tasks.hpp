// The threads of a process as /proc shows them, read with descriptors that stay open.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "system.hpp"

namespace threadmark {

// The kernel's view of one thread.
struct KernelView {
  char state = '?';  // R S D T Z as in stat
  int call = -1;     // the number of the system call that it is in; -1: none
  std::uint64_t arguments[2] = {};
  std::uint64_t sp = 0, pc = 0;  // of a thread that is not running
  std::uint64_t run_ns = 0, ready_ns = 0, slices = 0;
};

// What a thread has used so far.
struct Use {
  std::uint64_t faults = 0;     // page faults that read no file; 0: the thread has ended
  std::uint64_t kernel_ns = 0;  // processor time in the kernel, as its clock ticks found it
};

class Task {
 public:
  // The folder is /proc/PID/task. False: the thread has ended.
  bool open(const Descriptor& folder, pid_t tid);
  // False: the thread has ended. If it has not run since the last reading, only schedstat is read.
  bool read(KernelView& view);
  bool read_times(KernelView& view) const;
  // Leaves out the times until now, for a thread that ran before the recording began.
  void count_from_now();
  std::uint64_t run_before_ns() const { return before_.run_ns; }
  std::string name();
  Use used();
  bool sees_calls() const { return sees_calls_; }
  bool opened() const { return static_cast<bool>(times_); }
  void close();

 private:
  Descriptor stat_, times_, call_;
  bool sees_calls_ = true;
  KernelView before_;  // its times only
};

// The ids of the threads in /proc/PID/task; false if there is no such process.
bool list_tasks(const Descriptor& folder, std::vector<pid_t>& tids);

}  // namespace threadmark
