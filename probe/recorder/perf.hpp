// Samples of the target's threads on the processors, from the kernel's perf events: no signal and
// no stop in the target. One buffer per processor; threads that it makes are sampled too.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "entries.hpp"
#include "system.hpp"
#include "unwinding.hpp"

namespace threadmark {

// What is told of the target while a buffer is read.
class PerfListener {
 public:
  PerfListener() = default;
  PerfListener(const PerfListener&) = delete;
  PerfListener& operator=(const PerfListener&) = delete;
  virtual void on_sample(Sample& sample, const StackCopy& stack) = 0;
  virtual void on_thread_begin(pid_t pid, pid_t tid, pid_t maker, std::uint64_t at_ns) = 0;
  virtual void on_thread_end(pid_t tid, std::uint64_t at_ns) = 0;
  virtual void on_mapping() = 0;
  virtual void on_lost(std::uint64_t samples) = 0;

 protected:
  ~PerfListener() = default;
};

class Perf {
 public:
  Perf() = default;
  Perf(const Perf&) = delete;
  Perf& operator=(const Perf&) = delete;
  ~Perf() { close(); }

  // Begins to sample a thread and those that it makes from now on; `from_exec`: when it becomes
  // another program. Returns 0, or the kernel's error.
  int open(pid_t tid, bool from_exec, bool follow);
  bool is_open() const { return !rings_.empty(); }
  bool sees_kernel() const { return kernel_; }
  static std::uint64_t period_ns() { return 1'997'000; }  // no divisor of what the target repeats

  void read(PerfListener& listener);
  void close();

 private:
  struct Ring {
    int processor;
    void* place;
    std::size_t bytes;  // of the data
    int first;          // the descriptor that others of this processor share
  };
  bool map(int event, int processor);
  void read_ring(const Ring& ring, PerfListener& listener);
  void read_event(std::uint32_t type, std::uint16_t misc, const char* body, std::size_t size,
                  PerfListener& listener) const;

  std::vector<Descriptor> events_;
  std::vector<Ring> rings_;
  std::string event_;  // of one that is split by the buffer's end
  bool kernel_ = false;
  bool decided_ = false;
};

unwind::Registers registers_of(const Sample& sample);

}  // namespace threadmark
