// The entries of the record's tables, and the only place that sets the order in which their fields
// are written and read: `fields` calls the given function with each field.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "format.hpp"
#include "probe/shared.hpp"

namespace threadmark {

// The beginning of a record that began later than the program: `attached` is one of these values,
// or 0.
constexpr std::uint64_t kAttached = 1;  // the process was not started by the recorder
constexpr std::uint64_t kLate = 2;      // the recorder started it, and it ran before

struct StartEntry {
  std::uint64_t version = kFormatVersion, pid = 0, began_ns = 0, tick_ns = 0, processors = 0;
  std::uint64_t attached = 0;
  std::string kernel;
  std::vector<std::uint64_t> cpus;
  std::vector<std::string> command;

  template <class Self, class Function>
  static void fields(Self& e, Function each) {
    each(e.version), each(e.pid), each(e.began_ns), each(e.tick_ns), each(e.processors);
    each(e.attached), each(e.kernel), each(e.cpus), each(e.command);
  }
};

struct StatusEntry {
  std::uint64_t ended_ns = 0, exit_status = 0, signal = 0, complete = 0;
  std::uint64_t agent = 0, perf = 0, perf_kernel = 0, sample_ns = 0, agent_ns = 0;
  std::uint64_t switches = 0, kernel_names = 0;  // whether samples tell why threads leave CPUs
  std::vector<std::uint64_t> lost;               // by table, then samples
  std::vector<std::string> limits;
  std::uint64_t steal_ns = 0, throttled_ns = 0;  // of the machine, of the control group
  std::string glibc;  // the version that the target uses; empty: another library, or not known
  std::uint64_t kernel_ns = 0;  // of threads between their samples by ptrace; 0: not measured

  template <class Self, class Function>
  static void fields(Self& e, Function each) {
    each(e.ended_ns), each(e.exit_status), each(e.signal), each(e.complete), each(e.agent);
    each(e.perf), each(e.perf_kernel), each(e.sample_ns), each(e.agent_ns), each(e.lost);
    each(e.limits), each(e.glibc), each(e.steal_ns), each(e.throttled_ns), each(e.switches);
    each(e.kernel_names), each.added(e.kernel_ns);
  }
};

// The cost on this machine of threads that write one line: see contention.hpp.
struct ContentionEntry {
  std::uint64_t threads = 0;            // at once; 0: not measured
  std::vector<std::uint64_t> costs_ps;  // of each operation, alone and together

  template <class Self, class Function>
  static void fields(Self& e, Function each) {
    each(e.threads), each(e.costs_ps);
  }
};

struct ModuleEntry {
  std::uint64_t id = 0, low = 0, high = 0, offset = 0, bias = 0, from_ns = 0, until_ns = 0;
  std::uint64_t image = 0;
  std::string path, build_id;

  template <class Self, class Function>
  static void fields(Self& e, Function each) {
    each(e.id), each(e.low), each(e.high), each(e.offset), each(e.bias), each(e.from_ns);
    each(e.until_ns), each(e.path), each(e.build_id), each(e.image);
  }
};

// One program in one process. An address that is in none of its own modules may be in those of the
// image from which it was forked.
struct ImageEntry {
  std::uint64_t id = 0, pid = 0, forked = 0, from_ns = 0;  // forked: id of that image; 0: none

  template <class Self, class Function>
  static void fields(Self& e, Function each) {
    each(e.id), each(e.pid), each(e.forked), each(e.from_ns);
  }
};

struct StackEntry {
  std::uint64_t id = 0, at_ns = 0, exact = 0;  // exact: the first frame is no return address
  std::uint64_t image = 0;
  std::vector<std::uint64_t> frames;  // absolute
};

struct ThreadEntry {
  std::uint64_t id = 0, tid = 0, maker = 0, made_at = 0, began_ns = 0, ended_ns = 0;
  std::uint64_t run_ns = 0, ready_ns = 0, process = 0;
  std::string name;
  std::vector<std::uint64_t> totals;   // ns and times of each activity that has any: three numbers
  std::vector<std::uint64_t> allowed;  // a bit for each processor, 64 of them in a word

  template <class Self, class Function>
  static void fields(Self& e, Function each) {
    each(e.id), each(e.tid), each(e.maker), each(e.made_at), each(e.began_ns), each(e.ended_ns);
    each(e.run_ns), each(e.ready_ns), each(e.name), each(e.totals), each(e.allowed),
        each(e.process);
  }
};

struct ObjectEntry {
  std::uint64_t id = 0, kind = 0, address = 0, at_ns = 0, region = 0, thread = 0, made_at = 0;
  std::uint64_t type = 0, sampled = 0, waits = 0, wait_ns = 0, longest_ns = 0;
  std::uint64_t holds = 0, hold_ns = 0;
  std::uint64_t signals = 0, broadcasts = 0, signal_ns = 0, signal_stack = 0;
  std::uint64_t bytes = 0, writes = 0;  // of a file
  std::uint64_t mutex = 0, futile = 0;  // of a condition
  std::uint64_t image = 0;              // that the address belongs to
  std::string path;

  template <class Self, class Function>
  static void fields(Self& e, Function each) {
    each(e.id), each(e.kind), each(e.address), each(e.at_ns), each(e.region), each(e.thread);
    each(e.made_at), each(e.type), each(e.sampled), each(e.waits), each(e.wait_ns);
    each(e.longest_ns), each(e.holds), each(e.hold_ns), each(e.signals), each(e.broadcasts);
    each(e.signal_ns), each(e.signal_stack), each(e.bytes), each(e.writes), each(e.path);
    each(e.mutex), each(e.futile), each(e.image);
  }
};

struct PairEntry {
  std::uint64_t id = 0, object = 0, activity = 0, waiter = 0, holder = 0, waits = 0, wait_ns = 0;

  template <class Self, class Function>
  static void fields(Self& e, Function each) {
    each(e.id), each(e.object), each(e.activity), each(e.waiter), each(e.holder), each(e.waits);
    each(e.wait_ns);
  }
};

struct HoldEntry {
  std::uint64_t id = 0, object = 0, stack = 0, holds = 0, hold_ns = 0, blamed_ns = 0;

  template <class Self, class Function>
  static void fields(Self& e, Function each) {
    each(e.id), each(e.object), each(e.stack), each(e.holds), each(e.hold_ns), each(e.blamed_ns);
  }
};

// A symbol of a file that contains an address of the record; addresses as in the file's ELF
// headers.
struct SymbolEntry {
  std::uint64_t id = 0, module = 0, address = 0, size = 0, data = 0;
  std::string name;

  template <class Self, class Function>
  static void fields(Self& e, Function each) {
    each(e.id), each(e.module), each(e.address), each(e.size), each(e.data);
    each(e.name);
  }
};

// Instructions of a file around samples.
struct CodeEntry {
  std::uint64_t id = 0, module = 0, address = 0;
  std::string bytes;

  template <class Self, class Function>
  static void fields(Self& e, Function each) {
    each(e.id), each(e.module), each(e.address), each(e.bytes);
  }
};

// One thread in one tick.
struct TickThread {
  std::uint64_t tid = 0, activity = 0, object = 0, stack = 0, awaited = 0;
  std::uint64_t state = 'R';               // the kernel's letter
  std::uint64_t call = 0;                  // number of the system call, plus 1; 0: none
  std::uint64_t run_ns = 0, ready_ns = 0;  // since the last tick

  bool waits_alike(const TickThread& o) const {
    return activity == o.activity && object == o.object && stack == o.stack && awaited == o.awaited;
  }
};

struct Sample {
  std::uint64_t tid = 0, at_ns = 0, stack = 0;
  bool kernel = false;
  bool switched = false, preempted = false;  // preempted: it was ready when it left
  std::uint64_t entry = 0;                   // an Entry of kernel.hpp
  std::uint64_t weight = 0;                  // the switches that a switch sample stands for
  std::uint64_t faults = 0;  // of a sample of page faults, on its way: how many it stands for
  std::string sleeps_in;     // a function of the kernel
  std::array<std::uint64_t, kRegisters.size()> registers{};
};

// A thread made a sleeping thread ready.
struct Wake {
  std::uint64_t tid = 0, at_ns = 0, stack = 0, woken = 0, weight = 0;
  std::uint64_t object = 0;  // the futex; while it is on its way, the address of its word
};

struct PutField {
  Encoder& to;
  void operator()(std::uint64_t value) { to.number(value); }
  void added(std::uint64_t value) { to.number(value); }
  void operator()(const std::string& value) { to.text(value); }
  void operator()(const std::vector<std::uint64_t>& values) {
    to.number(values.size());
    for (const std::uint64_t value : values) to.number(value);
  }
  void operator()(const std::vector<std::string>& values) {
    to.number(values.size());
    for (const std::string& value : values) to.text(value);
  }
};

struct TakeField {
  Decoder& from;
  void operator()(std::uint64_t& value) { value = from.number(); }
  // The last field of a chunk with one entry. Older records have none.
  void added(std::uint64_t& value) { value = from.more() ? from.number() : 0; }
  void operator()(std::string& value) { value = from.text(); }
  void operator()(std::vector<std::uint64_t>& values) {
    values.resize(from.count());
    for (std::uint64_t& value : values) value = from.number();
  }
  void operator()(std::vector<std::string>& values) {
    values.resize(from.count());
    for (std::string& value : values) value = from.text();
  }
};

template <class Entry>
void put(Encoder& to, const Entry& entry) {
  Entry::fields(entry, PutField{to});
}

template <class Entry>
Entry take(Decoder& from) {
  Entry entry;
  Entry::fields(entry, TakeField{from});
  return entry;
}

inline void put(Encoder& to, const StackEntry& entry) {
  to.number(entry.id);
  to.number(entry.at_ns);
  to.number(entry.exact);
  to.number(entry.image);
  to.number(entry.frames.size());
  std::uint64_t before = 0;
  for (const std::uint64_t frame : entry.frames) {
    to.from(frame, before);
    before = frame;
  }
}

template <>
inline StackEntry take<StackEntry>(Decoder& from) {
  StackEntry entry;
  entry.id = from.number();
  entry.at_ns = from.number();
  entry.exact = from.number();
  entry.image = from.number();
  entry.frames.resize(from.count());
  std::uint64_t before = 0;
  for (std::uint64_t& frame : entry.frames) frame = before = from.from(before);
  return entry;
}

}  // namespace threadmark
