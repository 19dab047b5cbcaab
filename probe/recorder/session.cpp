// The recording of one process. This file is long because a tick combines what the kernel, the
// agent and perf say of one thread, and the tables that it fills are written from here.
#include "session.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace threadmark {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kTick = 4 * kMillisecond;
constexpr std::uint64_t kLongestTick = 40 * kMillisecond;
constexpr std::uint64_t kSecond = 1'000 * kMillisecond;
constexpr std::size_t kThreadsOfTick = 64;  // with more, ticks are rarer
constexpr std::size_t kMostStacks = 1 << 20;
constexpr std::size_t kBlockedStackBytes = 16384;

std::uint64_t mixed(std::uint64_t sum, std::uint64_t value) {
  sum = (sum ^ value) * 0x9e3779b97f4a7c15U;
  return sum ^ (sum >> 29);
}

// What other machines took of this one's processors since it began.
std::uint64_t steal_ns() {
  const std::string text = read_all("/proc/stat");
  const char* at = text.c_str();
  if (!text.starts_with("cpu ")) return 0;
  char* end = const_cast<char*>(at) + 4;
  std::uint64_t ticks = 0;
  for (int column = 0; column < 8; ++column) ticks = std::strtoull(end, &end, 10);
  return ticks * (1'000'000'000U / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK)));
}

// For how long the control group of a process was kept from running since it was made.
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

// What a thread in a system call waits for, as far as its number says it.
Activity activity_of(int call) {
  switch (call) {
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
#ifdef SYS_poll
    case SYS_poll:
    case SYS_select:
    case SYS_epoll_wait:
#endif
    case SYS_ppoll:
    case SYS_pselect6:
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
      modules_(pid),
      unwinding_(modules_),
      stacks_(writer, Chunk::stacks),
      ticks_(writer, Chunk::ticks),
      samples_(writer, Chunk::samples) {
  status_.lost.resize(8);
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
    error = perf_.open(tid, from_exec, false);
    if (error == ESRCH) error = 0;  // it ended meanwhile
    if (error != 0) break;
    ++opened;
  }
  if (error != 0 && opened == 0) {
    perf_.close();
    limit(format("Running code was not sampled, because the kernel refused perf events (%s).",
                 ::strerror(error)));
  } else if (error != 0) {
    limit(format("Only %zu of the threads that ran at the start were sampled while they ran (%s).",
                 opened, ::strerror(error)));
  }
  status_.perf = perf_.is_open();
  status_.perf_kernel = perf_.is_open() && perf_.sees_kernel();
  status_.sample_ns = perf_.is_open() ? Perf::period_ns() : 0;
  if (perf_.is_open() && !perf_.sees_kernel()) {
    limit(
        "Samples show no time in the kernel, because the kernel allows that to administrators "
        "only.");
  }
}

void Session::sample_running() {
  const Descriptor folder = open_to_read(format("/proc/%d/task", pid_).c_str());
  if (list_tasks(folder, tids_)) open_perf(tids_, false);
}

void Session::start(const std::vector<std::string>& command, bool attached) {
  folder_ =
      Descriptor(::open(format("/proc/%d/task", pid_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  start_.pid = static_cast<std::uint64_t>(pid_);
  start_.began_ns = now_ns();
  start_.tick_ns = kTick;
  start_.attached = attached;
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
  steal_before_ns_ = steal_ns();
  throttled_before_ns_ = throttled_ns(pid_);
  next_snapshot_ns_ = start_.began_ns + kSecond;

  Encoder encoder;
  put(encoder, start_);
  writer_.chunk(Chunk::start, encoder.bytes());
  write_status(start_.began_ns);
  begin_thread(pid_, start_.began_ns);
}

Session::Watched& Session::begin_thread(pid_t tid, std::uint64_t at_ns) {
  if (const auto old = by_tid_.find(tid); old != by_tid_.end() && old->second->live) {
    end_thread(*old->second, at_ns);
  }
  auto made = std::make_unique<Watched>();
  made->entry.id = threads_.size() + 1;
  made->entry.tid = static_cast<std::uint64_t>(tid);
  made->entry.began_ns = at_ns;
  Watched& thread = *made;
  threads_.push_back(std::move(made));
  by_tid_[tid] = &thread;
  live_.push_back(&thread);
  return thread;
}

Session::Watched& Session::watched(pid_t tid, std::uint64_t at_ns) {
  const auto known = by_tid_.find(tid);
  return known != by_tid_.end() ? *known->second : begin_thread(tid, at_ns);
}

void Session::end_thread(Watched& thread, std::uint64_t at_ns) {
  if (!thread.live) return;
  thread.live = false;
  thread.changed = true;
  if (thread.entry.ended_ns == 0) thread.entry.ended_ns = at_ns;
  thread.task.close();
}

void Session::on_thread_begin(pid_t pid, pid_t tid, pid_t maker, std::uint64_t at_ns) {
  if (pid != pid_ || tid == pid_) return;
  // A tick, or a message in another processor's buffer, may have told of it before this message.
  const auto known = by_tid_.find(tid);
  const auto told = [&](const Watched& of) {
    return of.live || of.entry.ended_ns >= at_ns ||
           (of.entry.maker == 0 && at_ns < of.entry.began_ns + kLongestTick);
  };
  const bool same = known != by_tid_.end() && told(*known->second);
  Watched& thread = same ? *known->second : begin_thread(tid, at_ns);
  thread.entry.began_ns = at_ns;
  if (!thread.live) thread.entry.ended_ns = std::max(thread.entry.ended_ns, at_ns);
  thread.entry.maker = static_cast<std::uint64_t>(maker);
  thread.changed = true;
}

void Session::on_thread_end(pid_t tid, std::uint64_t at_ns) {
  if (tid == pid_) return;
  Watched& thread = watched(tid, at_ns);
  if (at_ns < thread.entry.began_ns) return;  // of an earlier thread with this id
  thread.entry.ended_ns = at_ns;
  thread.changed = true;
  if (thread.task.opened() && thread.task.read_times(thread.view)) {
    thread.entry.run_ns = thread.view.run_ns;
    thread.entry.ready_ns = thread.view.ready_ns;
  }
  end_thread(thread, at_ns);
}

void Session::on_sample(Sample& sample, const StackCopy& stack) {
  if (maps_stale_) refresh_maps(sample.at_ns);
  const auto tid = static_cast<pid_t>(sample.tid);
  watched(tid, sample.at_ns);
  const std::vector<std::uint64_t> frames = unwinding_.frames(registers_of(sample), stack);
  if (!modules_.covers(frames.front())) maps_stale_ = sample.at_ns >= next_maps_ns_;
  sample.stack = intern(frames, true, sample.at_ns);
  sample_writer_.put(samples_.entry(), sample);
  if (samples_.long_enough()) {
    samples_.flush();
    sample_writer_.begin_chunk();
  }
}

std::uint64_t Session::intern(const std::vector<std::uint64_t>& frames, bool exact,
                              std::uint64_t at_ns) {
  std::uint64_t hash = mixed(exact ? 1 : 0, frames.size());
  for (const std::uint64_t frame : frames) hash = mixed(hash, frame);
  const auto [place, is_new] = stack_ids_.try_emplace(hash, stack_ids_.size() + 1);
  if (is_new && stack_ids_.size() > kMostStacks) {
    stack_ids_.erase(place);
    ++lost_stacks_;
    return 0;
  }
  if (is_new) put(stacks_.entry(), {place->second, at_ns, exact, frames});
  return place->second;
}

std::uint64_t Session::stack_of_agent(StackId id, std::uint64_t at_ns) {
  if (id == 0 || id > kStacks) return 0;
  if (agent_stacks_.empty()) agent_stacks_.resize(kStacks + 1);
  if (agent_stacks_[id] != 0) return agent_stacks_[id];
  const std::vector<std::uint64_t> frames = agent_.frames_of(id);
  if (frames.empty()) return 0;  // still being written
  return agent_stacks_[id] = static_cast<std::uint32_t>(intern(frames, false, at_ns));
}

pid_t Session::readable_task() const {
  // When the first thread has ended, the memory is reached through another.
  const auto first = by_tid_.find(pid_);
  if (first == by_tid_.end() || (first->second->live && first->second->view.state != 'Z'))
    return pid_;
  for (const Watched* thread : live_) {
    if (thread->live && thread->entry.tid != static_cast<std::uint64_t>(pid_)) {
      return static_cast<pid_t>(thread->entry.tid);
    }
  }
  return pid_;
}

void Session::refresh_maps(std::uint64_t at_ns) {
  maps_stale_ = false;
  next_maps_ns_ = at_ns + 20 * kMillisecond;
  const pid_t task = readable_task();
  modules_.read_from(task);
  unwinding_.read_from(task);
  if (modules_.update(at_ns)) unwinding_.maps_changed();
}

void Session::take_tasks(std::uint64_t at_ns) {
  for (Watched* thread : live_) thread->seen = false;
  for (const pid_t tid : tids_) {
    const auto known = by_tid_.find(tid);
    const bool same = known != by_tid_.end() && known->second->live;
    // One that ended a moment ago was listed before; its id is not given to another so soon.
    if (known != by_tid_.end() && !same && at_ns < known->second->entry.ended_ns + kLongestTick) {
      continue;
    }
    Watched& thread = same ? *known->second : begin_thread(tid, at_ns);
    thread.seen = true;
    if (!thread.task.opened() && !thread.task.open(folder_, tid)) thread.seen = false;
    if (thread.seen && thread.entry.name.empty()) thread.entry.name = thread.task.name();
  }
  for (Watched* thread : live_) {
    // A message may have told of a thread that was born after the threads were listed.
    if (!thread->seen && thread->entry.began_ns <= at_ns) end_thread(*thread, at_ns);
  }
  std::erase_if(live_, [](const Watched* thread) { return !thread->live; });
}

void Session::take_slot(std::size_t index) {
  Thread& slot = agent_.shared().threads[index];
  const std::uint32_t use = slot.use.load();
  const pid_t tid = slot.tid.load();
  if (use == Thread::free || tid <= 0) return;
  const std::uint64_t begin_ns = slot.begin_ns.load();
  const std::uint64_t end_ns = use == Thread::ended ? slot.end_ns.load() : 0;

  // The same id may have been given to a later thread already.
  Watched* thread = nullptr;
  if (const auto known = by_tid_.find(tid); known != by_tid_.end()) {
    Watched& last = *known->second;
    if (last.slot == index + 1 ||
        (last.slot == 0 && (end_ns == 0 || last.entry.began_ns <= end_ns))) {
      thread = &last;
    }
  }
  if (thread == nullptr && use == Thread::ended) {
    auto made = std::make_unique<Watched>();
    made->entry.id = threads_.size() + 1;
    made->entry.tid = static_cast<std::uint64_t>(tid);
    made->live = false;
    thread = made.get();
    by_tid_.try_emplace(tid, thread);
    threads_.push_back(std::move(made));
  } else if (thread == nullptr) {
    thread = &begin_thread(tid, begin_ns);
  }

  ThreadEntry& entry = thread->entry;
  thread->slot = static_cast<std::uint32_t>(index + 1);
  if (begin_ns != 0) entry.began_ns = begin_ns;
  if (const auto maker = slot.maker.load(); maker > 0) {
    entry.maker = static_cast<std::uint64_t>(maker);
  }
  entry.made_at = stack_of_agent(slot.made_at.load(), entry.began_ns);
  std::vector<std::uint64_t> totals;
  for (std::size_t i = 0; i < kActivities; ++i) {
    const std::uint64_t ns = slot.total[i].ns.load();
    const std::uint64_t times = slot.total[i].times.load();
    if (ns != 0 || times != 0) totals.insert(totals.end(), {i, ns, times});
  }
  if (totals != entry.totals) {
    entry.totals = std::move(totals);
    thread->changed = true;
  }
  if (entry.name.empty()) {
    char name[17] = {};
    const std::uint64_t words[2] = {slot.name[0].load(), slot.name[1].load()};
    std::memcpy(name, words, 16);
    entry.name = name;
  }
  if (use != Thread::ended) return;
  if (end_ns != 0) entry.ended_ns = end_ns;
  entry.run_ns = std::max(entry.run_ns, slot.processor_ns.load());
  if (thread->live) end_thread(*thread, end_ns);
  thread->changed = true;
  thread->slot = 0;
  // The slot is this side's now; the next thread finds it empty.
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

void Session::take_slots(bool all) {
  if (!agent_.attached()) return;
  status_.agent = 1;
  if (all) {
    agent_.for_each_written(agent_.shared().threads, sizeof(Thread), kThreads,
                            [this](std::size_t index) { take_slot(index); });
    return;
  }
  std::vector<std::size_t> slots;  // since taking one may add to live_
  for (const Watched* thread : live_) {
    if (thread->slot != 0) slots.push_back(thread->slot - 1);
  }
  for (const std::size_t slot : slots) take_slot(slot);
}

std::uint64_t Session::outside_object(std::uint64_t address, std::uint64_t at_ns) {
  const auto [place, is_new] = outside_.try_emplace(address);
  if (is_new) {
    ObjectEntry& entry = place->second.entry;
    entry.id = kFirstOutsideObject + outside_.size();
    entry.kind = static_cast<std::uint64_t>(ObjectKind::futex);
    entry.address = address;
    entry.at_ns = at_ns;
    entry.sampled = 1;
    place_object(entry);
  }
  return place->second.entry.id;
}

// What a descriptor stands for is known only while it is open. The first answer is kept.
void Session::name_file(std::uint64_t object) {
  std::string& name = file_names_[object];
  if (!name.empty()) return;
  const std::uint64_t key = agent_.shared().objects[object - 1].key.load();
  if ((key >> 56) != static_cast<std::uint64_t>(ObjectKind::file) + 1) return;
  const auto number = static_cast<unsigned long long>(key & ((std::uint64_t{1} << 56) - 1));
  char target[4096];
  const ssize_t length =
      ::readlink(format("/proc/%d/fd/%llu", pid_, number).c_str(), target, sizeof target);
  if (length > 0) name.assign(target, static_cast<std::size_t>(length));
}

void Session::place_object(ObjectEntry& entry) const {
  entry.region = static_cast<std::uint64_t>(modules_.region_of(entry.address));
  for (const Watched* thread : live_) {
    if (thread->view.sp != 0 && modules_.together(thread->view.sp, entry.address)) {
      entry.region = static_cast<std::uint64_t>(Region::stack);
      entry.thread = thread->entry.tid;
    }
  }
}

// A thread that is blocked without the agent's knowledge: by its system call and its stack.
void Session::see_blocked(Watched& thread, std::uint64_t at_ns, TickThread& now) {
  const KernelView& view = thread.view;
  const Activity activity = activity_of(view.call);
  now.activity =
      activity == Activity::running ? kActivityBlocked : static_cast<std::uint64_t>(activity);
  const bool same = thread.blocked_slices == view.slices && thread.blocked_stack != 0;
  if (activity == Activity::futex && view.call == SYS_futex) {
    const std::uint64_t address = view.arguments[0];
    now.object = outside_object(address, at_ns);
    ObjectEntry& object = outside_[address].entry;
    if (!same || thread.blocked_address != address) ++object.waits;
    object.wait_ns += at_ns - last_tick_ns_;
    outside_[address].changed = true;
    // glibc's mutex: lock, count, owner. A futex of another kind has no thread's id there.
    std::int32_t words[3] = {};
    if (read_memory(readable_task(), address, words, sizeof words) == sizeof words) {
      const auto owner = by_tid_.find(words[2]);
      if (words[0] != 0 && owner != by_tid_.end() && owner->second->live &&
          owner->second != &thread) {
        now.awaited = static_cast<std::uint64_t>(words[2]);
      }
    } else {
      memory_hidden_ = true;
    }
    thread.blocked_address = address;
  }
  if (!same && view.sp != 0) {
    char bytes[kBlockedStackBytes];
    StackCopy stack{view.sp, bytes, read_memory(readable_task(), view.sp, bytes, sizeof bytes)};
    if (stack.size == 0) {  // less is left of the stack: up to the next page, and so on
      const std::size_t left = 4096 - view.sp % 4096;
      for (std::size_t size = left; size <= sizeof bytes; size += 4096) {
        const std::size_t got = read_memory(readable_task(), view.sp, bytes, size);
        if (got < size) break;
        stack.size = got;
      }
    }
    if (!modules_.covers(view.pc) && at_ns >= next_maps_ns_) refresh_maps(at_ns);
    unwind::Registers registers{};
    registers.set(unwind::kStackPointer, view.sp);
    registers.set(unwind::kReturn, view.pc);
    thread.blocked_stack = intern(unwinding_.frames(registers, stack), true, at_ns);
  }
  thread.blocked_slices = view.slices;
  now.stack = thread.blocked_stack;
}

void Session::read_thread(Watched& thread, std::uint64_t at_ns, TickThread& now) {
  KernelView& view = thread.view;
  now = {};
  now.tid = thread.entry.tid;
  AgentWait wait;
  const bool told =
      thread.slot != 0 && AgentMemory::wait_of(agent_.shared().threads[thread.slot - 1], wait);
  now.state = static_cast<unsigned char>(view.state);
  now.call = view.call < 0 ? 0 : static_cast<std::uint64_t>(view.call) + 1;
  if (told && wait.activity != 0) {
    now.activity = wait.activity;
    now.object = wait.object;
    if (now.activity == static_cast<std::uint64_t>(Activity::io) && now.object != 0) {
      name_file(now.object);
    }
    now.stack = stack_of_agent(wait.stack, at_ns);
    now.awaited = wait.awaited > 0 ? static_cast<std::uint64_t>(wait.awaited) : 0;
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
  if (!list_tasks(folder_, tids_)) return false;
  perf_.read(*this);
  take_tasks(at_ns);
  take_slots(ticks_taken_ % 16 == 0);
  // The loader maps libraries in the first milliseconds.
  if (maps_stale_ || ticks_taken_ < 64 || at_ns >= next_maps_ns_ + kSecond) refresh_maps(at_ns);

  now_.clear();
  for (Watched* thread : live_) {
    if (!thread->live || !thread->task.opened()) continue;
    if (!thread->task.read(thread->view)) continue;  // the next list does not have it
    if (!thread->task.sees_calls()) calls_hidden_ = true;
    read_thread(*thread, at_ns, now_.emplace_back());
  }
  tick_writer_.put(ticks_.entry(), at_ns, now_);
  if (ticks_.long_enough()) {
    ticks_.flush();
    tick_writer_.begin_chunk();
  }
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
  if (ticks_taken_ < 16) interval = kMillisecond;  // short programs too have some ticks
  // What the start costs says nothing of the rest.
  longest_interval_ns_ =
      std::max(longest_interval_ns_, ticks_taken_ > 64 ? interval : std::min(interval, by_threads));
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

  // The 16th and 17th words of stat are the processor time of children that it waited for.
  const std::string stat = read_all(format("/proc/%d/stat", pid_).c_str());
  std::size_t at = stat.rfind(')');
  for (int word = 2; word < 16 && at != std::string::npos; ++word) at = stat.find(' ', at + 1);
  if (at == std::string::npos) return;
  char* end = nullptr;
  const double user = static_cast<double>(std::strtoull(stat.c_str() + at, &end, 10));
  const double system = static_cast<double>(std::strtoull(end, &end, 10));
  const double seconds = (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  if (seconds > 0) {
    limit(
        format("Processes that the program started used %.2f s of processor time; they were not "
               "recorded.",
               seconds));
  }
}

void Session::write_agent_tables(std::uint64_t at_ns) {
  if (!agent_.attached()) return;
  Shared& shared = agent_.shared();
  {
    TableOut out(writer_, Chunk::objects);
    agent_.for_each_written(shared.objects, sizeof(Object), kObjects, [&](std::size_t i) {
      const Object& object = shared.objects[i];
      const std::uint64_t key = object.key.load();
      if (key == 0) return;
      ObjectEntry e;
      e.waits = object.waits.load();
      e.wait_ns = object.wait_ns.load();
      e.longest_ns = object.longest_ns.load();
      e.holds = object.holds.load();
      e.hold_ns = object.hold_ns.load();
      e.signals = object.signals.load();
      e.signal_ns = object.signal_ns.load();
      std::uint64_t sum = 1;
      for (const std::uint64_t value :
           {e.waits, e.wait_ns, e.holds, e.hold_ns, e.signals, object.bytes.load()}) {
        sum = mixed(sum, value);
      }
      std::uint64_t& seen = seen_objects_[i];
      if (seen == sum) return;
      seen = sum;
      e.id = i + 1;
      e.kind = (key >> 56) - 1;
      e.address = key & ((std::uint64_t{1} << 56) - 1);
      e.at_ns = object.first_ns.load();
      e.made_at = stack_of_agent(object.made_at.load(), at_ns);
      e.type = object.type.load();
      e.signal_stack = stack_of_agent(object.signal_stack.load(), at_ns);
      if (e.kind == static_cast<std::uint64_t>(ObjectKind::file)) {
        e.bytes = object.bytes.load();
        e.writes = object.writes.load();
        name_file(e.id);
        e.path = file_names_[e.id];
      } else if (e.kind != static_cast<std::uint64_t>(ObjectKind::thread)) {
        place_object(e);
      }
      put(out.entry(), e);
    });
  }
  {
    TableOut out(writer_, Chunk::pairs);
    agent_.for_each_written(shared.pairs, sizeof(Pair), kPairs, [&](std::size_t i) {
      const Pair& pair = shared.pairs[i];
      if (pair.key.load() == 0 || pair.activity.load() == 0) return;
      PairEntry e{i + 1,
                  pair.object.load(),
                  pair.activity.load(),
                  stack_of_agent(pair.waiter.load(), at_ns),
                  stack_of_agent(pair.holder.load(), at_ns),
                  pair.waits.load(),
                  pair.wait_ns.load()};
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
    HoldEntry e{i + 1,
                hold.object.load(),
                stack_of_agent(hold.stack.load(), at_ns),
                hold.holds.load(),
                hold.hold_ns.load(),
                hold.blamed_ns.load()};
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
  }
  status_.lost[6] = lost_stacks_;
  status_.steal_ns = steal_ns() - steal_before_ns_;
  if (const std::uint64_t throttled = throttled_ns(pid_); throttled > throttled_before_ns_) {
    status_.throttled_ns = throttled - throttled_before_ns_;  // a process that has ended has none
  }
  status_.lost[5] = lost_samples_;
  status_.ended_ns = at_ns;
  Encoder encoder;
  put(encoder, status_);
  writer_.chunk(Chunk::status, encoder.bytes());
}

// glibc says its version in a text, which lies in libc.so.6 or in a static program.
void Session::find_glibc() {
  constexpr std::string_view kBefore = "GNU C Library ";
  constexpr std::string_view kRelease = " release version ";
  const std::vector<ModuleEntry>& modules = modules_.all();
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
    TableOut out(writer_, Chunk::modules);
    for (const ModuleEntry* module : modules_.take_changed()) put(out.entry(), *module);
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
  ticks_.flush();
  tick_writer_.begin_chunk();
  write_status(at_ns);
}

void Session::finish(bool ended, int exit_status, int signal) {
  perf_.read(*this);
  perf_.close();
  take_slots(true);
  const std::uint64_t at_ns = ended ? now_ns() : status_.ended_ns;
  status_.exit_status = static_cast<std::uint64_t>(exit_status);
  status_.signal = static_cast<std::uint64_t>(signal);
  status_.complete = 1;
  if (longest_interval_ns_ > kTick) {
    limit(
        format("Threads were looked at every %.0f ms at times instead of every %.0f ms, because "
               "there were many or looking took long.",
               static_cast<double>(longest_interval_ns_) / 1e6, static_cast<double>(kTick) / 1e6));
  }
  if (calls_hidden_) limit("The system calls of waiting threads could not be read.");
  if (memory_hidden_)
    limit("The program's memory could not be read, so holders of its locks are unknown.");
  if (lost_samples_ > 0) limit("Some samples of running code were lost.");
  if (agent_.made() && !agent_.attached()) {
    limit("The agent was not loaded by the program; waits were seen from outside only.");
  }
  snapshot(at_ns);
  writer_.chunk(Chunk::end, {});
}

}  // namespace threadmark
