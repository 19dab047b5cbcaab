// Samples of the target's threads on the processors, from the kernel's perf events, without a
// signal or a stop in the target. There is one buffer per processor, and the threads that the
// target makes are sampled too.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "entries.hpp"
#include "system.hpp"
#include "unwinding.hpp"

struct perf_event_attr;
struct perf_event_header;

namespace threadmark {

// The calls that a reader of a buffer makes.
class PerfListener {
 public:
  PerfListener() = default;
  PerfListener(const PerfListener&) = delete;
  PerfListener& operator=(const PerfListener&) = delete;
  virtual void on_sample(pid_t pid, Sample& sample, const StackCopy& stack) = 0;
  // The object of `wake` is still the address of the futex word. Sample and stack are the waker's.
  virtual void on_wake(pid_t pid, Wake& wake, const StackCopy& stack, const Sample& waker) = 0;
  virtual void on_thread_begin(pid_t pid, pid_t tid, pid_t maker, std::uint64_t at_ns) = 0;
  virtual void on_thread_end(pid_t pid, pid_t tid, std::uint64_t at_ns) = 0;
  virtual void on_mapping(pid_t pid) = 0;
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
  // another program; `follow`: in other processes too. Returns 0, or the kernel's error.
  int open(pid_t tid, bool from_exec, bool follow);
  // Then also samples the reasons for which the threads leave their processors. Returns 0, or the
  // kernel's error; EPERM if samples in the kernel are not allowed.
  int open_switches(pid_t tid, bool from_exec, bool follow);
  // Then also samples which thread wakes which. Returns 0, or the kernel's error; EPERM if samples
  // in the kernel are not allowed, ENOENT if the tracepoint is not found.
  int open_wakes(pid_t tid, bool from_exec, bool follow);
  // Where samples in the kernel are not allowed: then also samples the page faults of the threads'
  // own instructions. Returns 0, or the kernel's error; EPERM if the kernel is sampled.
  int open_faults(pid_t tid, bool from_exec, bool follow);
  bool is_open() const { return !rings_.empty(); }
  bool sees_kernel() const { return kernel_; }
  bool sees_switches() const { return !switch_ids_.empty(); }
  bool sees_wakes() const { return !wake_ids_.empty(); }
  static std::uint64_t period_ns() { return 1'997'000; }  // no divisor of a target's periods

  void read(PerfListener& listener);
  void close();

 private:
  class Fields;
  enum class Of { time, switches, wakes };
  struct Ring {
    int processor;
    Of of;  // each kind of sample has its own ring, so it displaces no others
    void* place;
    std::size_t bytes;  // of the data
    int first;          // the descriptor that others of this ring share
  };
  // Opens an event for each processor that writes into the processor's ring; `opened` gets the
  // descriptors. If the first event may not sample the kernel, the events are opened without the
  // kernel.
  int open_on_processors(perf_event_attr& attributes, pid_t tid, Of of, std::vector<int>& opened);
  // The same, and notes the ids of the events.
  int open_with_ids(perf_event_attr& attributes, pid_t tid, Of of, std::vector<std::uint64_t>& ids);
  int first_of(int processor, Of of) const;  // of the ring; -1: there is none
  bool map(int event, int processor, Of of);
  void read_ring(const Ring& ring, PerfListener& listener);
  void read_event(const Ring& ring, const perf_event_header& event, const char* body,
                  PerfListener& listener);
  void read_sample(const perf_event_header& event, Fields fields, PerfListener& listener);
  // Reads a tracepoint's fields. No woken thread: it is not known, or the sample is of an
  // interrupt.
  Wake read_waking(const Fields& fields, const Sample& sample);

  std::vector<Descriptor> events_;
  std::vector<std::uint64_t> switch_ids_, wake_ids_, fault_ids_;  // of these events, sorted
  std::unordered_map<std::uint32_t, std::uint64_t> tids_;  // here, by tid in the first namespace
  std::vector<std::uint64_t> chain_;
  std::vector<Ring> rings_;
  std::string event_;   // an event that the buffer's end splits
  bool ready_ = false;  // the next event tells that the leaving thread was ready
  bool kernel_ = false;
  bool decided_ = false;
};

unwind::Registers registers_of(const Sample& sample);

}  // namespace threadmark
