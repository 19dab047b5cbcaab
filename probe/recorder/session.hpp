// One recording: ticks, samples and the agent's tables of a process and of the processes that it
// makes, from the beginning to the end of the process.
#pragma once

#include <sys/types.h>

#include <array>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent_memory.hpp"
#include "carried.hpp"
#include "entries.hpp"
#include "image.hpp"
#include "perf.hpp"
#include "stops.hpp"
#include "streams.hpp"
#include "tasks.hpp"
#include "writer.hpp"

namespace threadmark {

class Session final : public PerfListener {
 public:
  Session(Writer& writer, AgentMemory& agent, pid_t pid);

  void limit(std::string sentence);
  // Makes the session record children too. Must be the first call.
  void follow();
  // Opens perf events: before a launched target begins, or for the threads of a running target.
  void sample_from_exec() { open_perf({pid_}, true); }
  void sample_running();
  // Writes the first chunk. `attached`: the recorder did not start the process. `late`: the program
  // ran before, and the recording leaves that part out.
  void start(const std::vector<std::string>& command, bool attached, bool late);
  // Takes one tick, with a snapshot when one is due. False: the process has no threads any more.
  bool tick();
  std::uint64_t next_tick_ns() const { return next_ns_; }
  // Lets the threads go that stopped late for a sample, and takes their samples.
  void release_stopped();
  // Takes the times of a process that has ended and is not yet reaped.
  void take_last_times();
  // Takes the last snapshot; nothing is recorded after it.
  void finish(bool ended, int exit_status, int signal);

  void on_sample(pid_t pid, Sample& sample, const StackCopy& stack) override;
  void on_wake(pid_t pid, Wake& wake, const StackCopy& stack, const Sample& waker) override;
  void on_thread_begin(pid_t pid, pid_t tid, pid_t maker, std::uint64_t at_ns) override;
  void on_thread_end(pid_t pid, pid_t tid, std::uint64_t at_ns) override;
  void on_mapping(pid_t pid) override;
  void on_lost(std::uint64_t samples) override { lost_samples_ += samples; }

 private:
  struct Watched {
    ThreadEntry entry;
    WatchedImage* image = nullptr;  // null: it was never seen alive
    Task task;
    KernelView view;
    bool live = true, changed = true, seen = false;
    bool told = false;       // the agent has made its last entry of it
    bool exact_end = false;  // the kernel told when it ended
    std::uint32_t slot = 0;  // of the agent, plus 1
    AgentWait wait;          // with `view`, the last look; no activity: none
    std::uint32_t looked_slot = 0;
    std::uint64_t looked_ns = 0;
    std::uint64_t blocked_stack = 0, blocked_object = 0;
    std::uint64_t blocked_slices = 0, blocked_address = 0;
    std::uint64_t tick_run_ns = 0, tick_ready_ns = 0;  // at the last tick
    std::uint64_t sampled_run_ns = 0;                  // of its run time, covered by ptrace
    Use used;                                          // at the last sample by ptrace
    std::uint64_t fault_ns = 0;                        // of page faults that no sample stands for
    std::uint64_t skipped_weight = 0;                  // of samples since the last kept one
    std::uint64_t next_allowed_ns = 0;                 // the next read of its processors
  };
  struct Outside {
    ObjectEntry entry;
    bool changed = true;
  };

  // The image that the process has now or had last; null: the process is not known.
  WatchedImage* image_of(pid_t pid) const;
  WatchedImage* live_image_of(pid_t pid) const;
  WatchedImage* image_at(pid_t pid, std::uint64_t at_ns) const;
  WatchedImage& begin_image(pid_t pid, std::uint64_t at_ns);
  void end_image(WatchedImage& image, std::uint64_t at_ns);
  // The process runs another program now.
  WatchedImage& replace_image(WatchedImage& image, std::uint64_t at_ns);
  // Follows a process that `parent` made; 0: the parent according to /proc. Null if the session
  // does not follow it. `executed`: the process has become another program since.
  WatchedImage* follow_process(pid_t pid, pid_t parent, std::uint64_t at_ns, bool executed = false);
  void take_images(std::uint64_t at_ns);
  WatchedImage* take_image(const Image& told, std::uint64_t at_ns);
  WatchedImage* image_of_agent(ImageId number) const;
  void find_children(std::uint64_t at_ns);
  void look_at_children();
  void name_children();
  void say_of_children(std::uint64_t at_ns);

  void open_perf(const std::vector<pid_t>& tids, bool from_exec);
  void pace_sampling(std::uint64_t at_ns);
  void sample_by_stops(std::uint64_t at_ns);
  void on_stop(Watched& thread, Sample& sample, const StackCopy& stack);
  void say_of_stops();
  // Where samples hide the kernel: counts page faults of the thread. True: with those before, they
  // take the time for which a sample stands.
  static bool stand_for_time(Watched& thread, std::uint64_t faults, std::uint64_t period_ns);
  // The time for which threads were sampled while they ran.
  std::uint64_t sampled_ns(std::uint64_t at_ns) const;
  Watched& watched(pid_t tid, std::uint64_t at_ns, WatchedImage& image);
  Watched& begin_thread(pid_t tid, std::uint64_t at_ns, WatchedImage& image);
  void end_thread(Watched& thread, std::uint64_t at_ns);
  void take_tasks(std::uint64_t at_ns);
  [[nodiscard]] bool has_newborn(std::uint64_t at_ns) const;
  void take_slots(bool all);
  void take_slot(std::size_t index);
  static void free_slot(Thread& slot);
  bool look_at(Watched& thread, std::uint64_t at_ns);
  static bool moved(const Watched& thread);
  static bool needs_stack(const Watched& thread);
  void read_thread(Watched& thread, std::uint64_t at_ns, TickThread& now);
  void see_relock(const Watched& thread, TickThread& now);
  void see_blocked(Watched& thread, std::uint64_t at_ns, TickThread& now);
  std::uint64_t stack_from_outside(Watched& thread, std::uint64_t at_ns, bool sure);
  static void ask_allowed(Watched& thread, std::uint64_t at_ns);
  WatchedImage& refresh_maps(WatchedImage& image, std::uint64_t at_ns);
  pid_t readable_task(const WatchedImage& image) const;

  std::uint64_t intern(const std::vector<std::uint64_t>& frames, bool exact, std::uint64_t at_ns,
                       const WatchedImage& image);
  std::uint64_t stack_of_agent(StackId id, std::uint64_t at_ns);
  ObjectEntry& outside_object(std::uint64_t address, std::uint64_t at_ns,
                              const WatchedImage& image);
  void place_object(ObjectEntry& entry, const WatchedImage& image);
  // The stack from the function whose frame contains an object; 0 if it is not known yet.
  std::uint64_t stack_of_frame(const Watched& thread, std::uint64_t address);
  StackCopy copy_stack(const Watched& thread, std::vector<char>& bytes) const;
  void name_file(std::uint64_t object);

  void note_before();
  void snapshot(std::uint64_t at_ns);
  void write_agent_tables(std::uint64_t at_ns);
  void write_status(std::uint64_t at_ns);
  void write_contention();
  void find_glibc();

  Writer& writer_;
  AgentMemory& agent_;
  const pid_t pid_;
  bool follow_ = false;
  Perf perf_;
  int perf_error_ = 0;  // the kernel's, where it allows no perf events
  Stops stops_;
  bool stops_taken_ = false;
  bool finished_ = false;
  unsigned stop_refusals_ = 0;
  std::size_t next_stop_ = 0;

  TablesOfFiles files_;
  Carried carried_;
  std::uint64_t last_module_ = 0;
  std::vector<std::unique_ptr<WatchedImage>> images_;
  std::vector<WatchedImage*> live_images_;
  std::unordered_map<pid_t, std::vector<WatchedImage*>> by_pid_;  // in the order of time
  std::vector<WatchedImage*> agent_images_;  // by number, less 1; null: not seen yet
  std::size_t unknown_images_ = 0;           // all before it are known
  std::size_t left_out_ = 0;
  bool look_at_slots_ = false;  // a process has unknown slots

  std::vector<std::unique_ptr<Watched>> threads_;
  std::unordered_map<pid_t, Watched*> by_tid_;  // the last thread of each id
  std::vector<Watched*> live_;
  std::vector<pid_t> tids_;
  struct Child {
    std::string name;
    std::uint64_t processor_ticks = 0;
  };
  std::map<pid_t, Child> children_;  // that are not followed
  std::vector<std::uint64_t> slot_tids_;

  TableOut stacks_, ticks_, samples_, wakes_;
  TickWriter tick_writer_;
  SampleWriter sample_writer_;
  WakeWriter wake_writer_;
  std::vector<TickThread> now_;
  std::unordered_map<std::uint64_t, std::uint64_t> stack_ids_;
  std::vector<std::uint32_t> agent_stacks_;
  std::unordered_map<std::uint64_t, Outside> outside_;                  // by image and address
  std::unordered_map<std::uint64_t, std::string> file_names_;           // by object
  std::unordered_map<std::uint64_t, std::uint64_t> frames_of_objects_;  // id -> stack
  std::unordered_map<std::size_t, std::uint64_t> seen_objects_, seen_pairs_, seen_holds_;

  // The agent's counts at the late beginning of a recording, by the index in its tables.
  struct ThreadBefore {
    std::int32_t tid = 0;
    std::uint64_t begin_ns = 0;
    std::array<std::uint64_t, kActivities> ns{}, times{};
  };
  std::unordered_map<std::size_t, ThreadBefore> threads_before_;
  std::unordered_map<std::size_t, std::array<std::uint64_t, 9>> objects_before_;
  std::unordered_map<std::size_t, std::array<std::uint64_t, 2>> pairs_before_;
  std::unordered_map<std::size_t, std::array<std::uint64_t, 3>> holds_before_;

  StartEntry start_;
  bool late_ = false;
  std::uint64_t steal_before_ns_ = 0, throttled_before_ns_ = 0;
  StatusEntry status_;
  std::uint64_t lost_samples_ = 0, lost_stacks_ = 0;
  // If there are more samples than are kept in a second, every nth is kept.
  struct Thinning {
    std::uint64_t samples = 0, keep_each = 1;
    bool keeps() { return ++samples % keep_each == 0; }
    void next_span();
  };
  Thinning switches_kept_, wakes_kept_;
  struct Pace {
    std::uint64_t span_ns = 0;                   // when counting began, less than a second ago
    std::uint64_t switches = 0, threads = 0;     // exits of threads from processors; threads before
    std::uint64_t busy_ns = 0;                   // the time for which that was too often
    std::uint64_t opened_ns = 0, resume_ns = 0;  // when sampling began, and will begin again
    std::uint64_t sampled_ns = 0;                // before that
    std::uint64_t most_left = 0, most_made = 0;  // a second
  };
  Pace pace_;
  std::uint64_t next_rate_ns_ = 0;
  bool wakes_to_tell_ = false;  // an empty chunk must tell that they are seen
  std::uint64_t next_ns_ = 0, next_snapshot_ns_ = 0, last_tick_ns_ = 0;
  std::uint64_t ticks_taken_ = 0, cost_ns_ = 0, noted_interval_ns_ = 0, longest_interval_ns_ = 0;
  bool calls_hidden_ = false, memory_hidden_ = false;
  std::size_t searched_ = 0;  // modules for the version of glibc
};

}  // namespace threadmark
