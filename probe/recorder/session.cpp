// The recording of one process. This file is long because a tick combines the views of the kernel,
// the agent and perf of one thread, and because it writes the tables that the tick fills.
#include "session.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <tuple>

#include "contention.hpp"
#include "kernel.hpp"

namespace threadmark {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kTick = 4 * kMillisecond;
constexpr std::uint64_t kLongestTick = 40 * kMillisecond;
constexpr std::uint64_t kSecond = 1'000 * kMillisecond;
constexpr std::uint64_t kNewborn = 3 * kLongestTick;  // at least two ticks, however rare
constexpr std::uint64_t kRateSpan = kSecond / 10;     // for counting such samples
constexpr std::size_t kThreadsOfTick = 64;            // with more, ticks are rarer
constexpr std::size_t kMostStacks = 1 << 20;
constexpr std::size_t kMostProcessors = 8192;
// Of processor time between two samples of a thread by ptrace: a little less than a tick, so that a
// thread that always runs is sampled at each tick.
constexpr std::uint64_t kStopPeriod = kTick - kTick / 10;
constexpr unsigned kSureRefusals = 3;   // the kernel also refuses to trace a thread that just ends
constexpr std::size_t kMostStops = 32;  // threads that a tick looks at for such samples
constexpr std::uint64_t kMostKept = 3'000;  // samples of switches, and of wakes, a second, roughly
constexpr std::size_t kBlockedStackBytes = 16384;
// The kernel's part in events costs a thread some 0.3 us whenever it leaves its processor, and 15
// us when it is made. Above these counts a second, of all threads together, sampling pauses after a
// look.
constexpr std::uint64_t kBusySwitches = 50'000, kBusyThreads = 1'000;
constexpr std::uint64_t kBusyLook = kSecond / 10;
constexpr std::uint64_t kPauses = 50;  // times the length of the look

std::uint64_t less(std::uint64_t value, std::uint64_t by) { return value - std::min(value, by); }

// The time that a page fault takes the recorder, which fills new memory: the least of some batches,
// because others interrupt them. Faults of threads that contend for the memory map take longer.
std::uint64_t fault_ns() {
  static const std::uint64_t measured = [] {
    constexpr std::size_t kBatch = 16, kBatches = 16;
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t bytes = page * kBatch * kBatches;
    void* place =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) return std::uint64_t{0};
    ::madvise(place, bytes, MADV_NOHUGEPAGE);
    char* at = static_cast<char*>(place);
    std::uint64_t least = kSecond;
    for (std::size_t batch = 0; batch < kBatches; ++batch) {
      const std::uint64_t begin = now_ns();
      for (std::size_t i = 0; i < kBatch; ++i, at += page) {
        std::atomic_ref(*at).store(1);  // no compiler leaves it out
      }
      least = std::min(least, (now_ns() - begin) / kBatch);
    }
    ::munmap(place, bytes);
    return least;
  }();
  return measured;
}

std::string hidden_kernel(const char* why) {
  return format(
      "Samples show no time in the kernel but page faults, because %s; each fault counts as "
      "%.1f us, as one takes here.",
      why, static_cast<double>(fault_ns()) / 1e3);
}

void count_as_fault(Sample& sample) {
  sample.kernel = true;
  sample.entry = static_cast<std::uint64_t>(Entry::fault);
}

// The agent's counts in an entry of a table, in a fixed order.
std::array<std::uint64_t, 9> counts_of(const Object& o) {
  return {o.waits.load(),      o.wait_ns.load(), o.holds.load(), o.hold_ns.load(), o.signals.load(),
          o.broadcasts.load(), o.futile.load(),  o.bytes.load(), o.writes.load()};
}
std::array<std::uint64_t, 2> counts_of(const Pair& p) { return {p.waits.load(), p.wait_ns.load()}; }
std::array<std::uint64_t, 3> counts_of(const Hold& h) {
  return {h.holds.load(), h.hold_ns.load(), h.blamed_ns.load()};
}

template <class Counts>
Counts since(Counts now, const std::unordered_map<std::size_t, Counts>& before, std::size_t index) {
  if (const auto found = before.find(index); found != before.end()) {
    for (std::size_t i = 0; i < now.size(); ++i) now[i] = less(now[i], found->second[i]);
  }
  return now;
}

std::uint64_t mixed(std::uint64_t sum, std::uint64_t value) {
  sum = (sum ^ value) * 0x9e3779b97f4a7c15U;
  return sum ^ (sum >> 29);
}

// The processor time that other machines took from this machine since its start.
std::uint64_t steal_ns() {
  const std::string text = read_all("/proc/stat");
  const char* at = text.c_str();
  if (!text.starts_with("cpu ")) return 0;
  char* end = const_cast<char*>(at) + 4;
  std::uint64_t ticks = 0;
  for (int column = 0; column < 8; ++column) ticks = std::strtoull(end, &end, 10);
  return ticks * (1'000'000'000U / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK)));
}

// The time for which the control group of a process was throttled since the group was made.
std::uint64_t throttled_ns(pid_t pid) {
  const std::string groups = read_all(format("/proc/%d/cgroup", pid).c_str());
  const std::size_t begin = groups.find("0::/");
  if (begin == std::string::npos) return 0;
  const std::size_t end = std::min(groups.find('\n', begin), groups.size());
  std::string path = "/sys/fs/cgroup";
  path.append(groups, begin + 3, end - begin - 3).append("/cpu.stat");
  const std::string text = read_all(path.c_str());
  constexpr std::string_view kName = "throttled_usec ";
  const std::size_t at = text.find(kName);
  if (at == std::string::npos) return 0;
  return std::strtoull(text.c_str() + at + kName.size(), nullptr, 10) * 1'000;
}

// The activity of a thread in a system call, as far as the call's number and arguments tell it.
Activity activity_of(const KernelView& view) {
  switch (view.call) {
    case SYS_futex:
#ifdef SYS_futex_waitv
    case SYS_futex_waitv:
#endif
      return Activity::futex;
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
      return Activity::sleep;
    case SYS_sched_yield:
      return Activity::yield;
    case SYS_wait4:
    case SYS_waitid:
      return Activity::join;
#ifdef SYS_poll
    case SYS_poll:
#endif
    case SYS_ppoll:
      return view.arguments[1] == 0 ? Activity::sleep : Activity::poll;  // no files
#ifdef SYS_select
    case SYS_select:
#endif
    case SYS_pselect6:
      return view.arguments[0] == 0 ? Activity::sleep : Activity::poll;
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
    case SYS_epoll_pwait:
#ifdef SYS_epoll_pwait2
    case SYS_epoll_pwait2:
#endif
      return Activity::poll;
    case SYS_read:
    case SYS_write:
    case SYS_readv:
    case SYS_writev:
    case SYS_pread64:
    case SYS_pwrite64:
    case SYS_preadv:
    case SYS_pwritev:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_accept:
    case SYS_accept4:
    case SYS_connect:
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_sync_file_range:
    case SYS_openat:
    case SYS_close:
    case SYS_sendfile:
    case SYS_splice:
    case SYS_copy_file_range:
    case SYS_io_getevents:
    case SYS_io_uring_enter:
    case SYS_flock:
      return Activity::io;
    default:
      return Activity::running;
  }
}

}  // namespace

Session::Session(Writer& writer, AgentMemory& agent, pid_t pid)
    : writer_(writer),
      agent_(agent),
      pid_(pid),
      stacks_(writer, Chunk::stacks),
      ticks_(writer, Chunk::ticks),
      samples_(writer, Chunk::samples),
      wakes_(writer, Chunk::wakes) {
  status_.lost.resize(9);
}

void Session::limit(std::string sentence) {
  const auto& all = status_.limits;
  if (std::find(all.begin(), all.end(), sentence) == all.end()) {
    status_.limits.push_back(std::move(sentence));
  }
}

void Session::open_perf(const std::vector<pid_t>& tids, bool from_exec) {
  int error = 0;
  std::size_t opened = 0;
  for (const pid_t tid : tids) {
    error = perf_.open(tid, from_exec, follow_);
    if (error == ESRCH) error = 0;  // it ended meanwhile
    if (error != 0) break;
    ++opened;
  }
  if (error != 0 && opened == 0) {
    perf_.close();
    perf_error_ = error;
  } else if (error != 0) {
    limit(format("Only %zu of the threads that ran at the start were sampled while they ran (%s).",
                 opened, ::strerror(error)));
  }
  int no_wakes = 0;
  for (std::size_t i = 0; i < opened; ++i) {
    perf_.open_switches(tids[i], from_exec, follow_);
    no_wakes = perf_.open_wakes(tids[i], from_exec, follow_);
    perf_.open_faults(tids[i], from_exec, follow_);
  }
  if (perf_.sees_kernel() && !perf_.sees_wakes()) {
    limit(
        format("Which thread woke which was not recorded, because the kernel's tracepoints %s.",
               no_wakes == ENOENT ? "were not found (tracefs is not mounted)" : "may not be read"));
  }
  if (!perf_.is_open()) return;  // samples from before a pause stay
  wakes_to_tell_ = perf_.sees_wakes();
  status_.switches = perf_.sees_switches();
  status_.kernel_names = perf_.sees_kernel() && kernel_names().known();
  status_.perf = 1;
  status_.perf_kernel = perf_.sees_kernel();
  if (!perf_.sees_kernel()) {
    limit(hidden_kernel("the kernel allows that to administrators only"));
  }
}

bool Session::stand_for_time(Watched& thread, std::uint64_t faults, std::uint64_t period_ns) {
  thread.fault_ns += faults * fault_ns();
  if (thread.fault_ns < period_ns) return false;
  // What is left over belongs to samples that follow soon, not to a later part of the program.
  thread.fault_ns = std::min(thread.fault_ns - period_ns, period_ns);
  return true;
}

// Samples running threads without perf events. A thread is sampled after each period of its own
// processor time, as by the events.
void Session::sample_by_stops(std::uint64_t at_ns) {
  if (perf_error_ == 0 || (!stops_taken_ && stop_refusals_ >= kSureRefusals)) return;
  std::vector<char> bytes;
  const std::size_t most = std::min(live_.size(), kMostStops);
  for (std::size_t i = 0; i < most; ++i) {
    Watched& thread = *live_[next_stop_++ % live_.size()];
    const std::uint64_t run_ns = thread.view.run_ns;
    if (!thread.live || thread.image == nullptr || thread.view.state != 'R') continue;
    if (thread.looked_ns != at_ns || run_ns < thread.sampled_run_ns + kStopPeriod) continue;
    Sample sample;
    StackCopy stack;
    const auto outcome = stops_.sample(static_cast<pid_t>(thread.entry.tid), sample, stack, bytes);
    thread.sampled_run_ns += kStopPeriod;
    thread.sampled_run_ns = std::max(thread.sampled_run_ns, run_ns - kStopPeriod);
    if (outcome == Stops::Outcome::taken) on_stop(thread, sample, stack);
    if (outcome == Stops::Outcome::refused && ++stop_refusals_ == kSureRefusals) say_of_stops();
  }
}

void Session::release_stopped() {
  stops_.release([this](Sample& sample, const StackCopy& stack) {
    const auto known = by_tid_.find(static_cast<pid_t>(sample.tid));
    if (finished_ || known == by_tid_.end()) return;
    Watched& thread = *known->second;
    if (thread.live && thread.image != nullptr) on_stop(thread, sample, stack);
  });
}

void Session::on_stop(Watched& thread, Sample& sample, const StackCopy& stack) {
  if (!std::exchange(stops_taken_, true)) say_of_stops();
  status_.kernel_ns = std::max(status_.kernel_ns, std::uint64_t{1});
  const Use before = std::exchange(thread.used, thread.task.used());
  const bool known = before.faults != 0 && thread.used.faults != 0;
  const std::uint64_t faults = known ? less(thread.used.faults, before.faults) : 0;
  if (known) status_.kernel_ns += less(thread.used.kernel_ns, before.kernel_ns);
  // A thread that ptrace stops in a page fault is at the instruction that made it.
  if (!sample.kernel && stand_for_time(thread, faults, kStopPeriod)) count_as_fault(sample);
  on_sample(thread.image->pid, sample, stack);
}

// Says how running code is sampled, if the kernel refused perf events: as soon as that is known, so
// that a record says it although the recorder was killed.
void Session::say_of_stops() {
  if (perf_error_ == 0 || status_.perf != 0) return;
  const char* refused = ::strerror(perf_error_);
  if (stops_taken_) {
    limit(
        format("Running code was sampled with ptrace, which stops a thread for a moment every "
               "%.0f ms of its work, because the kernel refused perf events (%s).",
               static_cast<double>(kStopPeriod) / 1e6, refused));
    limit(hidden_kernel("ptrace does not see it"));
  } else if (stop_refusals_ > 0) {
    limit(
        format("Running code was not sampled, because the kernel refused perf events (%s) and "
               "ptrace (%s).",
               refused, ::strerror(stops_.error())));
  } else {
    limit(format("Running code was not sampled, because the kernel refused perf events (%s).",
                 refused));
  }
}

void Session::sample_running() {
  const Descriptor folder = open_to_read(format("/proc/%d/task", pid_).c_str());
  if (list_tasks(folder, tids_)) open_perf(tids_, false);
}

// Pauses sampling while it costs threads too much.
void Session::pace_sampling(std::uint64_t at_ns) {
  const std::uint64_t span_ns = at_ns - pace_.span_ns;
  if (status_.perf == 0 || span_ns < kRateSpan) return;
  pace_.span_ns = at_ns;
  const std::uint64_t left = std::exchange(pace_.switches, 0) * kSecond / span_ns;
  const std::uint64_t known = std::exchange(pace_.threads, threads_.size());
  const std::uint64_t made = (threads_.size() - known) * kSecond / span_ns;
  pace_.most_left = std::max(pace_.most_left, left);
  pace_.most_made = std::max(pace_.most_made, made);
  // Without the agent only events show threads that end between two ticks.
  const bool busy = agent_.attached() && (left > kBusySwitches || made > kBusyThreads);
  pace_.busy_ns = busy ? pace_.busy_ns + span_ns : 0;
  if (perf_.is_open() && pace_.busy_ns >= kBusyLook) {
    perf_.read(*this);
    pace_.sampled_ns = sampled_ns(at_ns);
    perf_.close();
    pace_.resume_ns = at_ns + kPauses * kBusyLook;
  } else if (!perf_.is_open() && (!busy || at_ns >= pace_.resume_ns)) {
    std::vector<pid_t> tids;
    for (const Watched* thread : live_) tids.push_back(static_cast<pid_t>(thread->entry.tid));
    open_perf(tids, false);
    pace_.opened_ns = at_ns;
    pace_.busy_ns = 0;
    pace_.resume_ns = at_ns + kPauses * kBusyLook;
  }
}

std::uint64_t Session::sampled_ns(std::uint64_t at_ns) const {
  return pace_.sampled_ns + (perf_.is_open() ? at_ns - std::min(at_ns, pace_.opened_ns) : 0);
}

void Session::start(const std::vector<std::string>& command, bool attached, bool late) {
  late_ = late;
  if (!attached) stops_.leave_exit(pid_);
  start_.pid = static_cast<std::uint64_t>(pid_);
  start_.began_ns = now_ns();
  start_.tick_ns = kTick;
  start_.attached = attached ? kAttached : late ? kLate : 0;
  start_.command = command;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(pid_, sizeof allowed, &allowed) == 0) {
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &allowed)) start_.cpus.push_back(cpu);
    }
  }
  const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
  start_.processors = online > 0 ? static_cast<std::uint64_t>(online) : 1;
  utsname machine{};
  if (::uname(&machine) == 0) start_.kernel = machine.release;
  status_.ended_ns = start_.began_ns;
  last_tick_ns_ = next_ns_ = start_.began_ns;
  pace_.span_ns = pace_.opened_ns = start_.began_ns;
  steal_before_ns_ = steal_ns();
  throttled_before_ns_ = throttled_ns(pid_);
  next_snapshot_ns_ = start_.began_ns + kSecond / 4;  // so short programs also have one

  Encoder encoder;
  put(encoder, start_);
  writer_.chunk(Chunk::start, encoder.bytes());
  write_status(start_.began_ns);
  WatchedImage& first = begin_image(pid_, start_.began_ns);
  first.executed = !attached;
  begin_thread(pid_, start_.began_ns, first);
  if (late_) note_before();
}

void Session::note_before() {
  if (!agent_.attached()) return;
  const Shared& shared = agent_.shared();
  agent_.for_each_written(shared.objects, sizeof(Object), kObjects, [&](std::size_t i) {
    objects_before_[i] = counts_of(shared.objects[i]);
  });
  agent_.for_each_written(shared.pairs, sizeof(Pair), kPairs,
                          [&](std::size_t i) { pairs_before_[i] = counts_of(shared.pairs[i]); });
  agent_.for_each_written(shared.holds, sizeof(Hold), kHolds,
                          [&](std::size_t i) { holds_before_[i] = counts_of(shared.holds[i]); });
  for (std::size_t i = 0; i < shared.threads_used.load(); ++i) {
    const Thread& slot = shared.threads[i];
    if (slot.use.load() != Thread::live) continue;
    ThreadBefore& before = threads_before_[i];
    before.tid = slot.tid.load();
    before.begin_ns = slot.begin_ns.load();
    for (std::size_t a = 0; a < kActivities; ++a) {
      before.ns[a] = slot.total[a].ns.load();
      before.times[a] = slot.total[a].times.load();
    }
    // A wait in progress counts when it ends, including the time before now.
    AgentWait wait;
    if (!AgentMemory::wait_of(slot, wait) || wait.activity >= kActivities) continue;
    const std::uint64_t waited = start_.began_ns - std::min(start_.began_ns, wait.since_ns);
    if (wait.activity == 0 || wait.since_ns == 0) continue;
    before.ns[wait.activity] += waited;
    if (wait.object != 0) objects_before_[wait.object - 1][1] += waited;
  }
}

Session::Watched& Session::begin_thread(pid_t tid, std::uint64_t at_ns, WatchedImage& image) {
  auto made = std::make_unique<Watched>();
  if (const auto old = by_tid_.find(tid); old != by_tid_.end()) {
    if (old->second->live) end_thread(*old->second, at_ns);
    // A process that became another program keeps the place at which it was made.
    if (old->second->entry.process == static_cast<std::uint64_t>(image.pid) && tid == image.pid) {
      made->entry.maker = old->second->entry.maker;
      made->entry.made_at = old->second->entry.made_at;
    }
  }
  made->entry.id = threads_.size() + 1;
  made->entry.tid = static_cast<std::uint64_t>(tid);
  made->entry.process = static_cast<std::uint64_t>(image.pid);
  made->entry.began_ns = std::max(at_ns, start_.began_ns);
  made->image = &image;
  Watched& thread = *made;
  threads_.push_back(std::move(made));
  by_tid_[tid] = &thread;
  live_.push_back(&thread);
  return thread;
}

Session::Watched& Session::watched(pid_t tid, std::uint64_t at_ns, WatchedImage& image) {
  const auto known = by_tid_.find(tid);
  return known != by_tid_.end() ? *known->second : begin_thread(tid, at_ns, image);
}

void Session::end_thread(Watched& thread, std::uint64_t at_ns) {
  if (!thread.live) return;
  thread.live = false;
  thread.changed = true;
  if (thread.entry.ended_ns == 0) thread.entry.ended_ns = at_ns;
  thread.task.close();
}

void Session::on_thread_begin(pid_t pid, pid_t tid, pid_t maker, std::uint64_t at_ns) {
  if (tid == pid_) return;
  WatchedImage* image = live_image_of(pid);
  if (image == nullptr) image = image_at(pid, at_ns);
  if (image == nullptr && tid == pid) {
    const auto parent = by_tid_.find(maker);
    const bool known = parent != by_tid_.end() && parent->second->image != nullptr;
    image = follow_process(pid, known ? parent->second->image->pid : 0, at_ns);
  }
  if (image == nullptr) return;
  // A tick, or a message in another processor's buffer, may have shown the thread before this
  // message.
  const auto known = by_tid_.find(tid);
  const auto told = [&](const Watched& of) {
    return of.live || of.entry.ended_ns >= at_ns ||
           (of.entry.maker == 0 && at_ns < of.entry.began_ns + kLongestTick);
  };
  const bool same = known != by_tid_.end() && told(*known->second);
  Watched& thread = same ? *known->second : begin_thread(tid, at_ns, *image);
  thread.entry.began_ns = std::max(at_ns, start_.began_ns);
  if (!thread.live) thread.entry.ended_ns = std::max(thread.entry.ended_ns, at_ns);
  thread.entry.maker = static_cast<std::uint64_t>(maker);
  thread.changed = true;
}

void Session::on_thread_end(pid_t pid, pid_t tid, std::uint64_t at_ns) {
  // The beginning of the thread may be in another processor's buffer, which is read later.
  WatchedImage* image = image_at(pid, at_ns);
  if (image == nullptr && tid == pid) image = follow_process(pid, 0, at_ns);
  if (image == nullptr) return;
  Watched& thread = watched(tid, at_ns, *image);
  if (thread.image == nullptr) return;
  if (at_ns < thread.entry.began_ns) {
    if (at_ns >= start_.began_ns) return;  // of an earlier thread with this id
    at_ns = thread.entry.began_ns;         // it ended before the recording began
  }
  // A first thread that has ended stays in the list until the last thread has ended.
  if (tid == thread.image->pid &&
      (tid == pid_ || std::any_of(live_.begin(), live_.end(), [&](const Watched* other) {
         return other->live && other != &thread && other->image == thread.image;
       }))) {
    return;
  }
  thread.entry.ended_ns = at_ns;
  thread.exact_end = true;
  thread.changed = true;
  if (thread.task.opened() && thread.task.read_times(thread.view)) {
    thread.entry.run_ns = thread.view.run_ns;
    thread.entry.ready_ns = thread.view.ready_ns;
  }
  end_thread(thread, at_ns);
}

void Session::on_mapping(pid_t pid) {
  if (WatchedImage* image = live_image_of(pid)) image->maps_stale = true;
}

void Session::on_sample(pid_t pid, Sample& sample, const StackCopy& stack) {
  if (sample.at_ns < start_.began_ns) return;  // the events were opened earlier
  WatchedImage* image = image_at(pid, sample.at_ns);
  if (image == nullptr) image = follow_process(pid, 0, sample.at_ns);
  if (image == nullptr) return;
  if (image->maps_stale) image = &refresh_maps(*image, sample.at_ns);
  Watched& thread = watched(static_cast<pid_t>(sample.tid), sample.at_ns, *image);
  if (sample.faults != 0) {
    if (!stand_for_time(thread, sample.faults, Perf::period_ns())) return;
    count_as_fault(sample);
  }
  if (sample.switched) {
    sample.weight += std::exchange(thread.skipped_weight, 0);
    if (!switches_kept_.keeps()) {
      thread.skipped_weight = sample.weight;
      return;
    }
  }
  const std::vector<std::uint64_t> frames = image->unwinding.frames(registers_of(sample), stack);
  if (!image->modules.covers(frames.front())) {
    image->maps_stale = sample.at_ns >= image->next_maps_ns;
  }
  sample.stack = intern(frames, true, sample.at_ns, *image);
  sample_writer_.put(samples_.entry(), sample);
  if (samples_.long_enough()) {
    samples_.flush();
    sample_writer_.begin_chunk();
  }
}

void Session::Thinning::next_span() {
  keep_each = 1 + std::exchange(samples, 0) * (kSecond / kRateSpan) / kMostKept;
}

void Session::on_wake(pid_t pid, Wake& wake, const StackCopy& stack, const Sample& waker) {
  if (wake.at_ns < start_.began_ns || wake.tid == wake.woken) return;
  WatchedImage* image = image_at(pid, wake.at_ns);
  if (image == nullptr || !by_tid_.contains(static_cast<pid_t>(wake.woken))) return;
  if (!wakes_kept_.keeps()) return;
  wake.weight *= wakes_kept_.keep_each;
  const std::uint64_t word = std::exchange(wake.object, 0);
  if (image->maps_stale) image = &refresh_maps(*image, wake.at_ns);
  const std::vector<std::uint64_t> frames = image->unwinding.frames(registers_of(waker), stack);
  wake.stack = intern(frames, true, wake.at_ns, *image);
  if (word != 0) wake.object = outside_object(word, wake.at_ns, *image).id;
  wake_writer_.put(wakes_.entry(), wake);
  if (wakes_.long_enough()) {
    wakes_.flush();
    wake_writer_.begin_chunk();
  }
}

std::uint64_t Session::intern(const std::vector<std::uint64_t>& frames, bool exact,
                              std::uint64_t at_ns, const WatchedImage& image) {
  std::uint64_t hash = mixed(mixed(exact ? 1 : 0, image.entry.id - 1), frames.size());
  for (const std::uint64_t frame : frames) hash = mixed(hash, frame);
  const auto [place, is_new] = stack_ids_.try_emplace(hash, stack_ids_.size() + 1);
  if (is_new && stack_ids_.size() > kMostStacks) {
    stack_ids_.erase(place);
    ++lost_stacks_;
    return 0;
  }
  if (is_new) {
    put(stacks_.entry(), {place->second, at_ns, exact, image.entry.id, frames});
    carried_.frames(image, frames, exact);
  }
  return place->second;
}

std::uint64_t Session::stack_of_agent(StackId id, std::uint64_t at_ns) {
  if (id == 0 || id > kStacks) return 0;
  if (agent_stacks_.empty()) agent_stacks_.resize(kStacks + 1);
  if (agent_stacks_[id] != 0) return agent_stacks_[id];
  const std::vector<std::uint64_t> frames = agent_.frames_of(id);
  const WatchedImage* image = image_of_agent(agent_.shared().stacks[id - 1].image.load());
  if (frames.empty() || image == nullptr) return 0;  // still being written
  // A late reading has words that were written while the image was there.
  at_ns = std::min(at_ns, image->until_ns - 1);
  return agent_stacks_[id] = static_cast<std::uint32_t>(intern(frames, false, at_ns, *image));
}

pid_t Session::readable_task(const WatchedImage& image) const {
  // When the first thread has ended, the recorder reads the memory through another thread.
  const auto first = by_tid_.find(image.pid);
  if (first == by_tid_.end() || (first->second->live && first->second->view.state != 'Z'))
    return image.pid;
  for (const Watched* thread : live_) {
    if (thread->live && thread->image == &image &&
        thread->entry.tid != static_cast<std::uint64_t>(image.pid)) {
      return static_cast<pid_t>(thread->entry.tid);
    }
  }
  return image.pid;
}

WatchedImage& Session::refresh_maps(WatchedImage& image, std::uint64_t at_ns) {
  image.maps_stale = false;
  image.next_maps_ns = at_ns + 20 * kMillisecond;
  const pid_t task = readable_task(image);
  image.modules.read_from(task);
  image.unwinding.read_from(task);
  const MapsAre maps = image.modules.update(at_ns);
  if (maps == MapsAre::of_another_image) return refresh_maps(replace_image(image, at_ns), at_ns);
  if (maps == MapsAre::changed) image.unwinding.maps_changed();
  return image;
}

void Session::take_tasks(std::uint64_t at_ns) {
  for (Watched* thread : live_) thread->seen = false;
  for (std::size_t i = 0; i < live_images_.size(); ++i) {
    WatchedImage& image = *live_images_[i];
    if (!image.live) continue;
    if (image.pid != pid_ && !list_tasks(image.folder, image.tids)) image.tids.clear();
    const auto main = by_tid_.find(image.pid);
    const bool ends =
        image.tids.empty() ||
        (image.tids.size() == 1 && image.tids.front() == image.pid && main != by_tid_.end() &&
         (main->second->live ? main->second->view.state == 'Z' : has_ended(image.pid)));
    if (image.pid != pid_ && ends) {
      end_image(image, at_ns);
      continue;
    }
    for (const pid_t tid : image.tids) {
      const auto known = by_tid_.find(tid);
      const bool same = known != by_tid_.end() && known->second->live;
      if (known != by_tid_.end() && !same) {
        // A thread that ended a moment ago was listed before; no other thread gets its id so soon.
        if (at_ns < known->second->entry.ended_ns + kLongestTick) {
          look_at_slots_ = true;  // it may be another program by now
          continue;
        }
        // A first thread that has ended is listed until the last thread has ended.
        if (tid == image.pid && has_ended(tid)) continue;
      }
      Watched& thread = same ? *known->second : begin_thread(tid, at_ns, image);
      thread.seen = true;
      if (!thread.task.opened()) {
        thread.seen = thread.task.open(image.folder, tid);
        if (late_ && ticks_taken_ == 0) thread.task.count_from_now();
      }
      if (thread.seen && thread.entry.name.empty()) thread.entry.name = thread.task.name();
    }
  }
  std::erase_if(live_images_, [](const WatchedImage* image) { return !image->live; });
  for (Watched* thread : live_) {
    // A message may have shown a thread that was born after the threads were listed. A thread that
    // was never listed lived for less than a tick, and the message of its end was lost.
    if (!thread->seen && thread->entry.began_ns <= at_ns)
      end_thread(*thread, thread->task.opened() ? at_ns : thread->entry.began_ns);
  }
  std::erase_if(live_, [](const Watched* thread) { return !thread->live; });
}

void Session::take_slot(std::size_t index) {
  Thread& slot = agent_.shared().threads[index];
  std::uint32_t use = slot.use.load();
  const pid_t tid = slot.tid.load();
  if (use == Thread::free) return;
  const pid_t process = slot.process.load() > 0 ? slot.process.load() : pid_;
  const std::uint64_t begin_ns = slot.begin_ns.load();
  WatchedImage* image = image_of(process);
  if (use == Thread::live && (image == nullptr || !image->live)) {
    const bool was_its = image != nullptr && begin_ns <= image->until_ns;
    if (!was_its && agent_.is_mapped_by(process)) image = follow_process(process, 0, begin_ns);
    if (was_its || (::kill(process, 0) != 0 && errno == ESRCH)) {
      use = Thread::ended;  // the process died before the thread could note it
    } else if (image == nullptr || !image->live) {
      return;
    }
  }
  if (tid <= 0) {
    if (use == Thread::ended) free_slot(slot);
    return;
  }
  const std::uint64_t end_ns = use == Thread::ended ? slot.end_ns.load() : 0;
  // A recording that is not late has all threads, also those that ended while exec reported its
  // success.
  if (late_ && end_ns != 0 && end_ns < start_.began_ns) {
    free_slot(slot);
    return;
  }

  // A later thread may have the same id already, also a thread of another program in the same
  // process.
  Watched* thread = nullptr;
  if (const auto known = by_tid_.find(tid); known != by_tid_.end()) {
    Watched& last = *known->second;
    const bool fits =
        use == Thread::ended ? end_ns == 0 || last.entry.began_ns <= end_ns : last.live;
    if (last.slot == index + 1 || (last.slot == 0 && !last.told && fits)) thread = &last;
  }
  if (thread == nullptr && use == Thread::ended) {
    auto made = std::make_unique<Watched>();
    made->entry.id = threads_.size() + 1;
    made->entry.tid = static_cast<std::uint64_t>(tid);
    made->entry.process = static_cast<std::uint64_t>(process);
    made->entry.began_ns = begin_ns;
    made->live = false;
    thread = made.get();
    by_tid_.try_emplace(tid, thread);
    threads_.push_back(std::move(made));
  } else if (thread == nullptr) {
    thread = &begin_thread(tid, begin_ns, *image);
  }

  ThreadEntry& entry = thread->entry;
  thread->slot = static_cast<std::uint32_t>(index + 1);
  // The agent knows a thread without a maker only from its first wait on, which may be late.
  const bool made = slot.maker.load() > 0;
  if (begin_ns != 0) entry.began_ns = made ? begin_ns : std::min(entry.began_ns, begin_ns);
  entry.began_ns = std::max(entry.began_ns, start_.began_ns);
  const auto noted = threads_before_.find(index);
  const bool was_there = noted != threads_before_.end() && noted->second.tid == tid &&
                         noted->second.begin_ns == begin_ns;
  const ThreadBefore before = was_there ? noted->second : ThreadBefore();
  if (const auto maker = slot.maker.load(); maker > 0) {
    entry.maker = static_cast<std::uint64_t>(maker);
  }
  if (const StackId made_at = slot.made_at.load(); made_at != 0) {
    entry.made_at = stack_of_agent(made_at, entry.began_ns);
  }
  std::vector<std::uint64_t> totals;
  for (std::size_t i = 0; i < kActivities; ++i) {
    const std::uint64_t ns = less(slot.total[i].ns.load(), before.ns[i]);
    const std::uint64_t times = less(slot.total[i].times.load(), before.times[i]);
    if (ns != 0 || times != 0) totals.insert(totals.end(), {i, ns, times});
  }
  if (totals != entry.totals) {
    entry.totals = std::move(totals);
    thread->changed = true;
  }
  char name[17] = {};
  const std::uint64_t words[2] = {slot.name[0].load(), slot.name[1].load()};
  std::memcpy(name, words, 16);
  if (name[0] != 0) entry.name = name;  // its last one
  if (use != Thread::ended) return;
  // A tick sees that a thread has ended up to a tick later.
  if (end_ns != 0 && (!thread->exact_end || entry.ended_ns <= entry.began_ns))
    entry.ended_ns = std::max(end_ns, entry.began_ns);
  if (entry.ended_ns == 0) entry.ended_ns = now_ns();
  entry.run_ns =
      std::max(entry.run_ns, less(slot.processor_ns.load(), thread->task.run_before_ns()));
  if (thread->live) end_thread(*thread, entry.ended_ns);
  thread->changed = true;
  thread->slot = 0;
  thread->told = true;
  free_slot(slot);
}

// Empties the slot, which now belongs to the recorder, for the next thread.
void Session::free_slot(Thread& slot) {
  slot.process.store(0);
  slot.tid.store(0);
  slot.maker.store(0);
  slot.made_at.store(0);
  slot.begin_ns.store(0);
  slot.end_ns.store(0);
  slot.processor_ns.store(0);
  slot.name[0].store(0);
  slot.name[1].store(0);
  slot.activity.store(0);
  slot.object.store(0);
  slot.stack.store(0);
  slot.since_ns.store(0);
  slot.awaited.store(0);
  for (Thread::Total& total : slot.total) {
    total.ns.store(0);
    total.times.store(0);
  }
  slot.use.store(Thread::free);
}

// Whether a thread began a moment ago and its slot is not known yet. Many threads end before the
// recorder has looked at all slots in turn, and it would not know their waits.
bool Session::has_newborn(std::uint64_t at_ns) const {
  return std::any_of(live_.begin(), live_.end(), [&](const Watched* thread) {
    return thread->slot == 0 && at_ns < thread->entry.began_ns + kNewborn;
  });
}

void Session::take_slots(bool all) {
  if (!agent_.attached()) return;
  status_.agent = 1;
  if (all) {
    agent_.for_each_written(agent_.shared().threads, sizeof(Thread), kThreads,
                            [this](std::size_t index) { take_slot(index); });
    return;
  }
  std::vector<std::size_t> slots;  // because taking one may add to live_
  for (const Watched* thread : live_) {
    if (thread->slot != 0) slots.push_back(thread->slot - 1);
  }
  for (const std::size_t slot : slots) take_slot(slot);
}

ObjectEntry& Session::outside_object(std::uint64_t address, std::uint64_t at_ns,
                                     const WatchedImage& image) {
  const std::uint64_t shared = image.modules.shared_place(address);
  const auto [place, is_new] =
      outside_.try_emplace(shared != 0 ? shared : address ^ image.entry.id << 48);
  place->second.changed = true;
  if (is_new) {
    ObjectEntry& entry = place->second.entry;
    entry.id = kFirstOutsideObject + outside_.size();
    entry.kind = static_cast<std::uint64_t>(ObjectKind::futex);
    entry.address = address;
    entry.at_ns = at_ns;
    entry.sampled = 1;
    entry.image = image.entry.id;
    if (shared != 0) entry.type = kSharedByProcesses;
    place_object(entry, image);
  }
  return place->second.entry;
}

// Names the file of a descriptor, which is known only while the descriptor is open. The first
// answer is kept.
void Session::name_file(std::uint64_t object) {
  std::string& name = file_names_[object];
  if (!name.empty()) return;
  const Object& known = agent_.shared().objects[object - 1];
  if ((known.key.load() >> 56) != static_cast<std::uint64_t>(ObjectKind::file) + 1) return;
  const WatchedImage* image = image_of_agent(known.image.load());
  if (image == nullptr || !image->live) return;
  const auto number = static_cast<unsigned long long>(known.address.load());
  char target[4096];
  const ssize_t length =
      ::readlink(format("/proc/%d/fd/%llu", image->pid, number).c_str(), target, sizeof target);
  if (length > 0) name.assign(target, static_cast<std::size_t>(length));
}

void Session::place_object(ObjectEntry& entry, const WatchedImage& image) {
  carried_.object(image, entry.address);
  entry.region = static_cast<std::uint64_t>(image.modules.region_of(entry.address));
  for (Watched* thread : live_) {
    if (thread->image == &image && thread->view.sp != 0 &&
        image.modules.together(thread->view.sp, entry.address)) {
      entry.region = static_cast<std::uint64_t>(Region::stack);
      entry.thread = thread->entry.tid;
      std::uint64_t& stack = frames_of_objects_[entry.id];
      if (stack == 0) stack = stack_of_frame(*thread, entry.address);
    }
  }
  if (entry.made_at == 0) {
    const auto found = frames_of_objects_.find(entry.id);
    if (found != frames_of_objects_.end()) entry.made_at = found->second;
  }
}

std::uint64_t Session::stack_of_frame(const Watched& thread, std::uint64_t address) {
  std::vector<char> bytes;
  const StackCopy stack = copy_stack(thread, bytes);
  unwind::Registers registers{};
  registers.set(unwind::kStackPointer, thread.view.sp);
  registers.set(unwind::kReturn, thread.view.pc);
  const std::vector<unwind::Frame> callers = thread.image->unwinding.callers(registers, stack);
  if (moved(thread)) return 0;
  // A function's frame begins behind the return address of the function that it calls.
  for (std::size_t i = 0; i + 1 < callers.size(); ++i) {
    if (callers[i].slot == 0 || address <= callers[i].slot || address >= callers[i + 1].slot) {
      continue;
    }
    std::vector<std::uint64_t> frames;
    for (std::size_t j = i; j < callers.size(); ++j) frames.push_back(callers[j].pc);
    return intern(frames, false, now_ns(), *thread.image);
  }
  return 0;
}

// Describes a thread that is blocked without the agent's knowledge, by its system call and its
// stack.
void Session::see_blocked(Watched& thread, std::uint64_t at_ns, TickThread& now) {
  const KernelView& view = thread.view;
  const Activity activity = activity_of(view);
  now.activity =
      activity == Activity::running ? kActivityBlocked : static_cast<std::uint64_t>(activity);
  const bool same = thread.blocked_slices == view.slices && thread.blocked_stack != 0;
  WatchedImage* image = thread.image;
  const pid_t task = readable_task(*image);
  if (activity == Activity::join) {
    // The process that wait4 waits for. In waitid it is the argument after the type of the id.
    const auto child = static_cast<std::int32_t>(view.arguments[view.call == SYS_waitid ? 1 : 0]);
    if (child > 0) now.awaited = static_cast<std::uint64_t>(child);
  }
  if (activity == Activity::futex && view.call == SYS_futex) {
    const std::uint64_t address = view.arguments[0];
    ObjectEntry& object = outside_object(address, at_ns, *image);
    now.object = object.id;
    if (!same || thread.blocked_address != address) ++object.waits;
    object.wait_ns += at_ns - last_tick_ns_;
    // glibc's mutex: lock, count, owner. A futex of another kind has no thread's id there. The word
    // itself is an id in a join, where the kernel clears it and wakes a waiter of any process, and
    // in a mutex with priority inheritance.
    const auto operation = static_cast<int>(view.arguments[1]);
    const bool has_id =
        (operation & FUTEX_PRIVATE_FLAG) == 0 || (operation & FUTEX_CMD_MASK) == FUTEX_LOCK_PI;
    std::int32_t words[3] = {};
    if (read_memory(task, address, words, sizeof words) == sizeof words) {
      for (const std::int32_t tid :
           {has_id ? words[0] & FUTEX_TID_MASK : 0, words[0] != 0 ? words[2] : 0}) {
        const auto other = by_tid_.find(tid);
        if (other != by_tid_.end() && other->second->live && other->second != &thread) {
          now.awaited = static_cast<std::uint64_t>(tid);
        }
      }
    } else {
      memory_hidden_ = true;
    }
    thread.blocked_address = address;
  }
  now.stack = stack_from_outside(thread, at_ns, false);
}

StackCopy Session::copy_stack(const Watched& thread, std::vector<char>& bytes) const {
  const std::uint64_t sp = thread.view.sp;
  const pid_t task = readable_task(*thread.image);
  bytes.resize(kBlockedStackBytes);
  StackCopy stack{sp, bytes.data(), read_memory(task, sp, bytes.data(), bytes.size())};
  if (stack.size == 0) {  // less is left: try up to the next page, and so on
    const std::size_t left = 4096 - sp % 4096;
    for (std::size_t size = left; size <= bytes.size(); size += 4096) {
      const std::size_t got = read_memory(task, sp, bytes.data(), size);
      if (got < size) break;
      stack.size = got;
    }
  }
  return stack;
}

// The stack of a thread that sleeps in the kernel, 0 if it cannot be read. `sure`: also 0 if the
// thread ran meanwhile. Most threads that ran wait at the same place again.
std::uint64_t Session::stack_from_outside(Watched& thread, std::uint64_t at_ns, bool sure) {
  const KernelView& view = thread.view;
  if (thread.blocked_slices == view.slices && thread.blocked_stack != 0) {
    return thread.blocked_stack;
  }
  thread.blocked_slices = view.slices;
  thread.blocked_stack = 0;
  if (view.sp == 0) return 0;
  std::vector<char> bytes;
  WatchedImage* image = thread.image;
  const StackCopy stack = copy_stack(thread, bytes);
  if (sure && moved(thread)) return 0;
  if (!image->modules.covers(view.pc) && at_ns >= image->next_maps_ns) {
    image = &refresh_maps(*image, at_ns);
  }
  unwind::Registers registers{};
  registers.set(unwind::kStackPointer, view.sp);
  registers.set(unwind::kReturn, view.pc);
  return thread.blocked_stack =
             intern(image->unwinding.frames(registers, stack), true, at_ns, *image);
}

// Reads on which processors a thread may run. Most programs set that when a thread begins, so the
// recorder asks often at first.
void Session::ask_allowed(Watched& thread, std::uint64_t at_ns) {
  if (at_ns < thread.next_allowed_ns) return;
  const std::uint64_t age_ns = at_ns - std::min(at_ns, thread.entry.began_ns);
  thread.next_allowed_ns = at_ns + std::clamp(age_ns, kMillisecond, kSecond);
  std::uint64_t words[kMostProcessors / 64] = {};
  const long got = ::syscall(SYS_sched_getaffinity, thread.entry.tid, sizeof words, words);
  if (got <= 0) return;
  std::vector<std::uint64_t> allowed(words, words + static_cast<std::size_t>(got) / 8);
  while (!allowed.empty() && allowed.back() == 0) allowed.pop_back();
  if (allowed == thread.entry.allowed) return;
  thread.entry.allowed = std::move(allowed);
  thread.changed = true;
}

// The word that a thread sleeps for tells whether it waits for its condition or, after a signal,
// for the mutex. The agent's wrapper does not run in between.
void Session::see_relock(const Watched& thread, TickThread& now) {
  const KernelView& view = thread.view;
  if (now.activity != static_cast<std::uint64_t>(Activity::condition) || view.call != SYS_futex ||
      now.object == 0)
    return;
  const Object* objects = agent_.shared().objects;
  const std::uint32_t mutex = objects[now.object - 1].mutex.load();
  if (mutex == 0 || mutex > kObjects) return;
  const std::uint64_t address = objects[mutex - 1].address.load();
  if (view.arguments[0] != address) return;
  now.activity = static_cast<std::uint64_t>(Activity::relock);
  std::int32_t words[3] = {};  // lock, count, owner
  if (read_memory(readable_task(*thread.image), address, words, sizeof words) != sizeof words)
    return;
  now.awaited = words[2] > 0 ? static_cast<std::uint64_t>(words[2]) : 0;
}

// Reads the kernel's and the agent's view of a thread at this moment. False: the thread is gone.
bool Session::look_at(Watched& thread, std::uint64_t at_ns) {
  thread.looked_ns = 0;
  const std::uint64_t slices = thread.view.slices;
  if (!thread.task.opened() || !thread.task.read(thread.view)) return false;
  if (slices != 0) pace_.switches += less(thread.view.slices, slices);
  thread.looked_ns = at_ns;
  thread.looked_slot = thread.slot;
  if (thread.slot == 0 ||
      !AgentMemory::wait_of(agent_.shared().threads[thread.slot - 1], thread.wait)) {
    thread.wait = {};
  }
  return true;
}

// Whether a thread ran since the last reading, so that its stack has changed.
bool Session::moved(const Watched& thread) {
  KernelView after;
  return !thread.task.read_times(after) || after.slices != thread.view.slices;
}

// Whether read_thread() will read the stack from outside: the agent has no stack of this wait.
bool Session::needs_stack(const Watched& thread) {
  const bool blocked = thread.view.state == 'S' || thread.view.state == 'D';
  return blocked && (thread.wait.activity == 0 || thread.wait.stack == 0);
}

void Session::read_thread(Watched& thread, std::uint64_t at_ns, TickThread& now) {
  KernelView& view = thread.view;
  const AgentWait& wait = thread.wait;
  now = {};
  now.tid = thread.entry.tid;
  now.state = static_cast<unsigned char>(view.state);
  now.call = view.call < 0 ? 0 : static_cast<std::uint64_t>(view.call) + 1;
  if (wait.activity != 0) {
    now.activity = wait.activity;
    now.object = wait.object;
    if (now.activity == static_cast<std::uint64_t>(Activity::io) && now.object != 0) {
      name_file(now.object);
    }
    now.stack = stack_of_agent(wait.stack, at_ns);
    now.awaited = wait.awaited > 0 ? static_cast<std::uint64_t>(wait.awaited) : 0;
    see_relock(thread, now);
    // Calls that are brief publish no stack.
    if (wait.stack == 0 && view.call >= 0 && (view.state == 'S' || view.state == 'D')) {
      now.stack = stack_from_outside(thread, at_ns, true);
    }
  } else if (view.state == 'S' || view.state == 'D') {
    see_blocked(thread, at_ns, now);
  }
  now.run_ns = view.run_ns - std::min(view.run_ns, thread.tick_run_ns);
  now.ready_ns = view.ready_ns - std::min(view.ready_ns, thread.tick_ready_ns);
  thread.tick_run_ns = view.run_ns;
  thread.tick_ready_ns = view.ready_ns;
  if (now.run_ns != 0 || now.ready_ns != 0) thread.changed = true;
  thread.entry.run_ns = view.run_ns;
  thread.entry.ready_ns = view.ready_ns;
}

bool Session::tick() {
  const std::uint64_t at_ns = now_ns();
  const std::uint64_t cost_begin_ns = processor_ns();
  next_ns_ = at_ns + kTick;
  // This look comes first: the recorder took a processor from one of the threads, and during the
  // rest of the tick the other threads begin to wait for that thread.
  for (Watched* thread : live_) look_at(*thread, at_ns);
  sample_by_stops(at_ns);
  longest_interval_ns_ = std::max(longest_interval_ns_, noted_interval_ns_);
  WatchedImage& first = *image_of(pid_);
  if (!list_tasks(first.folder, first.tids)) return false;
  perf_.read(*this);
  take_images(at_ns);
  if (ticks_taken_ % 16 == 0) {
    if (follow_) {
      find_children(at_ns);
    } else {
      look_at_children();
    }
  }
  take_tasks(at_ns);
  take_slots(ticks_taken_ % 16 == 0 || std::exchange(look_at_slots_, false) || has_newborn(at_ns));
  for (std::size_t i = 0; i < live_images_.size(); ++i) {
    WatchedImage& image = *live_images_[i];
    // The loader maps libraries in the first milliseconds.
    const std::uint64_t young = image.pid == pid_ ? 64 : 8;
    if (image.looks == 8 && agent_.attached()) image.has_agent = agent_.is_mapped_by(image.pid);
    if (image.maps_stale || image.looks++ < young || at_ns >= image.next_maps_ns + kSecond) {
      refresh_maps(image, at_ns);
    }
  }
  std::erase_if(live_images_, [](const WatchedImage* image) { return !image->live; });

  now_.clear();
  for (Watched* thread : live_) {
    if (!thread->live) continue;
    const bool looked = thread->looked_ns == at_ns && thread->looked_slot == thread->slot;
    // A thread that cannot be read is not in the next list.
    const bool again = !looked || (needs_stack(*thread) && moved(*thread));
    if (again && !look_at(*thread, at_ns)) continue;
    if (thread->view.state == 'Z') {  // a first thread; the process goes on
      end_thread(*thread, at_ns);
      continue;
    }
    if (!thread->task.sees_calls()) calls_hidden_ = true;
    read_thread(*thread, at_ns, now_.emplace_back());
    ask_allowed(*thread, at_ns);
  }
  tick_writer_.put(ticks_.entry(), at_ns, now_);
  if (ticks_.long_enough()) {
    ticks_.flush();
    tick_writer_.begin_chunk();
  }
  if (at_ns >= next_rate_ns_) {
    switches_kept_.next_span();
    wakes_kept_.next_span();
    next_rate_ns_ = at_ns + kRateSpan;
  }
  pace_sampling(at_ns);
  status_.ended_ns = at_ns;
  last_tick_ns_ = at_ns;
  if (at_ns >= next_snapshot_ns_) {
    for (Watched* thread : live_) {
      std::string name = thread->task.name();
      if (name.empty() || name == thread->entry.name) continue;
      thread->entry.name = std::move(name);
      thread->changed = true;
    }
    take_slots(true);
    snapshot(at_ns);
    next_snapshot_ns_ = at_ns + kSecond;
  }

  // At most about a twentieth of one processor goes into ticks.
  const std::uint64_t cost = processor_ns() - cost_begin_ns;
  cost_ns_ = (cost_ns_ * 15 + cost) / 16;
  ++ticks_taken_;
  const std::uint64_t by_threads = kTick * ((live_.size() + kThreadsOfTick - 1) / kThreadsOfTick);
  std::uint64_t interval = std::clamp(std::max(by_threads, cost_ns_ * 20), kTick, kLongestTick);
  if (ticks_taken_ < 16) interval = kMillisecond;  // short programs also have some ticks
  // The cost of the start says nothing about later ticks. An interval counts when it has passed.
  noted_interval_ns_ = ticks_taken_ > 64 ? interval : std::min(interval, by_threads);
  next_ns_ = std::max(at_ns + interval, now_ns() + interval / 4);
  return true;
}

void Session::take_last_times() {
  const auto first = by_tid_.find(pid_);
  if (first == by_tid_.end()) return;
  Watched& thread = *first->second;
  if (!thread.task.opened() || !thread.task.read_times(thread.view)) return;
  thread.entry.run_ns = thread.view.run_ns;
  thread.entry.ready_ns = thread.view.ready_ns;
  thread.changed = true;

  if (!follow_) name_children();
}

// Names the children by their processor time: of the process itself, and of the children that it
// waited for.
void Session::name_children() {
  const ProcessorTicks used = processor_ticks_of(pid_);
  if (used.children == 0) return;
  const auto seconds =
      static_cast<double>(used.children) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  std::string who = "Processes that the program started";
  if (used.children < used.own) {
    limit(
        format("%s used %.2f s of processor time; they were not recorded.", who.c_str(), seconds));
    return;
  }
  const auto most =
      std::max_element(children_.begin(), children_.end(), [](const auto& a, const auto& b) {
        return a.second.processor_ticks < b.second.processor_ticks;
      });
  if (most != children_.end()) who += ", most of all " + most->second.name + ",";
  limit(format(
      "%s used %.2f s of processor time, which is %.0f %% of all, and were not recorded; "
      "record them with --follow.",
      who.c_str(), seconds,
      100.0 * static_cast<double>(used.children) / static_cast<double>(used.children + used.own)));
}

void Session::write_agent_tables(std::uint64_t at_ns) {
  if (!agent_.attached()) return;
  Shared& shared = agent_.shared();
  {
    TableOut out(writer_, Chunk::objects);
    agent_.for_each_written(shared.objects, sizeof(Object), kObjects, [&](std::size_t i) {
      const Object& object = shared.objects[i];
      const std::uint64_t key = object.key.load();
      const WatchedImage* image = image_of_agent(object.image.load());
      if (key == 0 || image == nullptr) return;
      ObjectEntry e;
      const auto counts = since(counts_of(object), objects_before_, i);
      std::uint64_t sum = mixed(1, object.mutex.load());
      for (const std::uint64_t value : counts) sum = mixed(sum, value);
      std::uint64_t& seen = seen_objects_[i];
      if (seen == sum) return;
      seen = sum;
      std::tie(e.waits, e.wait_ns, e.holds, e.hold_ns, e.signals, e.broadcasts, e.futile, e.bytes,
               e.writes) = std::tuple_cat(counts);
      e.longest_ns = std::min(object.longest_ns.load(), e.wait_ns);
      e.signal_ns = object.signal_ns.load();
      e.id = i + 1;
      e.kind = (key >> 56) - 1;
      e.address = object.address.load();
      e.image = image->entry.id;
      e.at_ns = object.first_ns.load();
      e.made_at = stack_of_agent(object.made_at.load(), at_ns);
      e.type = object.type.load();
      e.signal_stack = stack_of_agent(object.signal_stack.load(), at_ns);
      e.mutex = object.mutex.load();
      if (e.kind == static_cast<std::uint64_t>(ObjectKind::file)) {
        name_file(e.id);
        e.path = file_names_[e.id];
      } else if (e.kind != static_cast<std::uint64_t>(ObjectKind::thread)) {
        place_object(e, *image);
      }
      put(out.entry(), e);
    });
  }
  {
    TableOut out(writer_, Chunk::pairs);
    agent_.for_each_written(shared.pairs, sizeof(Pair), kPairs, [&](std::size_t i) {
      const Pair& pair = shared.pairs[i];
      if (pair.key.load() == 0 || pair.activity.load() == 0) return;
      auto [waits, wait_ns] = since(counts_of(pair), pairs_before_, i);
      if (waits == 0) return;
      const std::uint32_t object = pair.object.load();
      if (late_ && object != 0) {  // of an earlier wait only the object is known
        wait_ns = std::min(
            wait_ns, since(counts_of(shared.objects[object - 1]), objects_before_, object - 1)[1]);
      }
      const PairEntry e{i + 1,
                        object,
                        pair.activity.load(),
                        stack_of_agent(pair.waiter.load(), at_ns),
                        stack_of_agent(pair.holder.load(), at_ns),
                        waits,
                        wait_ns};
      std::uint64_t& seen = seen_pairs_[i];
      const std::uint64_t sum = mixed(mixed(1, e.waits), e.wait_ns);
      if (seen == sum) return;
      seen = sum;
      put(out.entry(), e);
    });
  }
  TableOut out(writer_, Chunk::holds);
  agent_.for_each_written(shared.holds, sizeof(Hold), kHolds, [&](std::size_t i) {
    const Hold& hold = shared.holds[i];
    if (hold.key.load() == 0 || hold.stack.load() == 0) return;
    const auto [holds, hold_ns, blamed_ns] = since(counts_of(hold), holds_before_, i);
    if (holds == 0 && blamed_ns == 0) return;
    const HoldEntry e{i + 1,   hold.object.load(), stack_of_agent(hold.stack.load(), at_ns), holds,
                      hold_ns, blamed_ns};
    std::uint64_t& seen = seen_holds_[i];
    const std::uint64_t sum = mixed(mixed(mixed(1, e.holds), e.hold_ns), e.blamed_ns);
    if (seen == sum) return;
    seen = sum;
    put(out.entry(), e);
  });
}

void Session::write_status(std::uint64_t at_ns) {
  if (agent_.made()) {
    const Shared& shared = agent_.shared();
    if (agent_.attached()) status_.agent = 1;
    status_.agent_ns = shared.agent_ns.load();
    for (std::size_t i = 0; i < 5; ++i) status_.lost[i] = shared.lost[i].load();
    status_.lost[8] = shared.lost[lost_images].load();
  }
  status_.lost[6] = lost_stacks_;
  status_.steal_ns = steal_ns() - steal_before_ns_;
  if (const std::uint64_t throttled = throttled_ns(pid_); throttled > throttled_before_ns_) {
    status_.throttled_ns = throttled - throttled_before_ns_;  // a process that has ended has none
  }
  status_.lost[5] = lost_samples_;
  if (const std::uint64_t on_ns = sampled_ns(at_ns); status_.perf != 0 && on_ns != 0) {
    const double whole = static_cast<double>(at_ns - start_.began_ns);
    const double part = std::min(1.0, static_cast<double>(on_ns) / std::max(1.0, whole));
    status_.sample_ns = static_cast<std::uint64_t>(static_cast<double>(Perf::period_ns()) / part);
  } else if (stops_taken_) {
    status_.sample_ns = kStopPeriod;
  }
  status_.ended_ns = at_ns;
  Encoder encoder;
  put(encoder, status_);
  writer_.chunk(Chunk::status, encoder.bytes());
}

void Session::write_contention() {
  const Contention found = measure_contention(start_.cpus);
  ContentionEntry entry{found.threads, {}};
  for (const OperationCost& each : found.costs) {
    entry.costs_ps.insert(entry.costs_ps.end(), {each.alone_ps, each.together_ps});
  }
  Encoder encoder;
  put(encoder, entry);
  writer_.chunk(Chunk::contention, encoder.bytes());
}

// glibc has its version in a text, which lies in libc.so.6 or in a static program.
void Session::find_glibc() {
  constexpr std::string_view kBefore = "GNU C Library ";
  constexpr std::string_view kRelease = " release version ";
  const std::vector<ModuleEntry>& modules = images_.front()->modules.all();
  for (; status_.glibc.empty() && searched_ < modules.size(); ++searched_) {
    const ModuleEntry& module = modules[searched_];
    const bool is_library = module.path.find("/libc.so.6") != std::string::npos ||
                            module.path.find("/libc-2.") != std::string::npos;
    if (!is_library && searched_ != 0) continue;
    const std::string text = read_all(module.path.c_str());
    const std::size_t begin = text.find(kRelease, std::min(text.find(kBefore), text.size()));
    if (begin == std::string::npos) continue;
    const std::size_t first = begin + kRelease.size();
    const std::size_t end = text.find_first_not_of("0123456789.", first);
    if (end == std::string::npos || end - first > 16) continue;
    status_.glibc = text.substr(first, end - first);
    while (status_.glibc.ends_with('.')) status_.glibc.pop_back();
  }
}

void Session::snapshot(std::uint64_t at_ns) {
  {
    TableOut out(writer_, Chunk::images);
    for (const auto& image : images_) {
      if (image->changed) put(out.entry(), image->entry);
      image->changed = false;
    }
  }
  {
    TableOut out(writer_, Chunk::modules);
    for (const auto& image : images_) {
      if (image->written) continue;
      for (const ModuleEntry* module : image->modules.take_changed()) put(out.entry(), *module);
      image->written = !image->live;
    }
  }
  find_glibc();
  write_agent_tables(at_ns);
  {
    TableOut out(writer_, Chunk::threads);
    for (const auto& thread : threads_) {
      if (!thread->changed) continue;
      put(out.entry(), thread->entry);
      thread->changed = false;
    }
  }
  {
    TableOut out(writer_, Chunk::objects);
    for (auto& [address, object] : outside_) {
      if (object.changed) put(out.entry(), object.entry);
      object.changed = false;
    }
  }
  stacks_.flush();
  samples_.flush();
  sample_writer_.begin_chunk();
  if (std::exchange(wakes_to_tell_, false)) writer_.chunk(Chunk::wakes, {});
  wakes_.flush();
  wake_writer_.begin_chunk();
  ticks_.flush();
  tick_writer_.begin_chunk();
  write_status(at_ns);
}

void Session::finish(bool ended, int exit_status, int signal) {
  finished_ = true;
  perf_.read(*this);
  if (pace_.resume_ns != 0) {
    const std::uint64_t now = now_ns();
    const bool by_making = pace_.most_left <= kBusySwitches;
    limit(format(
        "Running threads were sampled in %.0f %% of the time only, because samples would "
        "have slowed down threads that %s %llu times a second.",
        100.0 * static_cast<double>(sampled_ns(now)) / static_cast<double>(now - start_.began_ns),
        by_making ? "were made" : "left their processors",
        static_cast<unsigned long long>(by_making ? pace_.most_made : pace_.most_left)));
  }
  pace_.sampled_ns = sampled_ns(now_ns());
  perf_.close();
  take_images(now_ns());
  take_slots(true);
  const std::uint64_t at_ns = ended ? now_ns() : status_.ended_ns;
  status_.exit_status = static_cast<std::uint64_t>(exit_status);
  status_.signal = static_cast<std::uint64_t>(signal);
  status_.complete = 1;
  if (2 * longest_interval_ns_ >= 3 * kTick) {
    limit(
        format("Threads were looked at every %.0f ms at times instead of every %.0f ms, because "
               "there were many or looking took long.",
               static_cast<double>(longest_interval_ns_) / 1e6, static_cast<double>(kTick) / 1e6));
  }
  if (calls_hidden_) limit("The system calls of waiting threads could not be read.");
  if (memory_hidden_)
    limit("The program's memory could not be read, so holders of its locks are unknown.");
  if (lost_samples_ > 0) limit("Some samples of running code were lost.");
  say_of_stops();
  if (agent_.made() && !agent_.attached()) {
    limit("The agent was not loaded by the program; waits were seen from outside only.");
  }
  if (agent_.made()) agent_.shared().over.store(1);
  say_of_children(at_ns);
  snapshot(at_ns);
  if (ended && !late_ && threads_.size() > 1) write_contention();
  carried_.write(images_, writer_);
  writer_.chunk(Chunk::end, {});
}

}  // namespace threadmark
