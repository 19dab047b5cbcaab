// One recording: ticks, samples and the agent's tables of one process, from its begin to its end.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent_memory.hpp"
#include "entries.hpp"
#include "modules.hpp"
#include "perf.hpp"
#include "streams.hpp"
#include "tasks.hpp"
#include "unwinding.hpp"
#include "writer.hpp"

namespace threadmark {

class Session final : public PerfListener {
 public:
  Session(Writer& writer, AgentMemory& agent, pid_t pid);

  void limit(std::string sentence);
  // Perf events: before a launched target begins, or for the threads of one that runs.
  void sample_from_exec() { open_perf({pid_}, true); }
  void sample_running();
  // The first chunk. `attached`: the process ran before.
  void start(const std::vector<std::string>& command, bool attached);
  // One tick, with a snapshot when one is due. False: the process has no threads any more.
  bool tick();
  std::uint64_t next_tick_ns() const { return next_ns_; }
  // Takes the times of a process that has ended and is not yet reaped.
  void take_last_times();
  // The last snapshot; nothing is recorded after it.
  void finish(bool ended, int exit_status, int signal);

  void on_sample(Sample& sample, const StackCopy& stack) override;
  void on_thread_begin(pid_t pid, pid_t tid, pid_t maker, std::uint64_t at_ns) override;
  void on_thread_end(pid_t tid, std::uint64_t at_ns) override;
  void on_mapping() override { maps_stale_ = true; }
  void on_lost(std::uint64_t samples) override { lost_samples_ += samples; }

 private:
  struct Watched {
    ThreadEntry entry;
    Task task;
    KernelView view;
    bool live = true, changed = true, seen = false;
    std::uint32_t slot = 0;  // of the agent, plus 1
    std::uint64_t blocked_stack = 0, blocked_object = 0;
    std::uint64_t blocked_slices = 0, blocked_address = 0;
    std::uint64_t tick_run_ns = 0, tick_ready_ns = 0;  // at the last tick
  };
  struct Outside {
    ObjectEntry entry;
    bool changed = true;
  };

  void open_perf(const std::vector<pid_t>& tids, bool from_exec);
  Watched& watched(pid_t tid, std::uint64_t at_ns);
  Watched& begin_thread(pid_t tid, std::uint64_t at_ns);
  void end_thread(Watched& thread, std::uint64_t at_ns);
  void take_tasks(std::uint64_t at_ns);
  void take_slots(bool all);
  void take_slot(std::size_t index);
  void read_thread(Watched& thread, std::uint64_t at_ns, TickThread& now);
  void see_blocked(Watched& thread, std::uint64_t at_ns, TickThread& now);
  void refresh_maps(std::uint64_t at_ns);
  pid_t readable_task() const;

  std::uint64_t intern(const std::vector<std::uint64_t>& frames, bool exact, std::uint64_t at_ns);
  std::uint64_t stack_of_agent(StackId id, std::uint64_t at_ns);
  std::uint64_t outside_object(std::uint64_t address, std::uint64_t at_ns);
  void place_object(ObjectEntry& entry) const;
  void name_file(std::uint64_t object);

  void snapshot(std::uint64_t at_ns);
  void write_agent_tables(std::uint64_t at_ns);
  void write_status(std::uint64_t at_ns);
  void find_glibc();

  Writer& writer_;
  AgentMemory& agent_;
  const pid_t pid_;
  Descriptor folder_;
  Perf perf_;
  Modules modules_;
  Unwinding unwinding_;

  std::vector<std::unique_ptr<Watched>> threads_;
  std::unordered_map<pid_t, Watched*> by_tid_;  // the last thread of each id
  std::vector<Watched*> live_;
  std::vector<pid_t> tids_;
  std::vector<std::uint64_t> slot_tids_;

  TableOut stacks_, ticks_, samples_;
  TickWriter tick_writer_;
  SampleWriter sample_writer_;
  std::vector<TickThread> now_;
  std::unordered_map<std::uint64_t, std::uint64_t> stack_ids_;
  std::vector<std::uint32_t> agent_stacks_;
  std::unordered_map<std::uint64_t, Outside> outside_;         // by address
  std::unordered_map<std::uint64_t, std::string> file_names_;  // by object
  std::unordered_map<std::size_t, std::uint64_t> seen_objects_, seen_pairs_, seen_holds_;

  StartEntry start_;
  std::uint64_t steal_before_ns_ = 0, throttled_before_ns_ = 0;
  StatusEntry status_;
  std::uint64_t lost_samples_ = 0, lost_stacks_ = 0;
  std::uint64_t next_ns_ = 0, next_snapshot_ns_ = 0, next_maps_ns_ = 0, last_tick_ns_ = 0;
  std::uint64_t ticks_taken_ = 0, cost_ns_ = 0, longest_interval_ns_ = 0;
  bool maps_stale_ = true;
  bool calls_hidden_ = false, memory_hidden_ = false;
  std::size_t searched_ = 0;  // modules for the version of glibc
};

}  // namespace threadmark
