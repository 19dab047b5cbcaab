// The coding of ticks, samples and wakes as changes since the last one, of the same thread or of
// any, in the same chunk. Each writer stands beside its reader, because the two must agree byte by
// byte.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "entries.hpp"

namespace threadmark {

class TickWriter {
 public:
  void put(Encoder& to, std::uint64_t at_ns, const std::vector<TickThread>& threads) {
    to.from(at_ns, at_ns_);
    at_ns_ = at_ns;
    to.number(threads.size());
    std::uint64_t tid = 0;
    for (const TickThread& now : threads) {
      to.from(now.tid, tid);
      tid = now.tid;
      TickThread& last = last_[tid];
      const bool waits = !now.waits_alike(last);
      const bool kernel = now.state != last.state || now.call != last.call;
      to.number((waits ? 1U : 0U) | (kernel ? 2U : 0U) | (now.run_ns != 0 ? 4U : 0U) |
                (now.ready_ns != 0 ? 8U : 0U));
      if (waits) {
        to.number(now.activity);
        to.number(now.object);
        to.number(now.stack);
        to.number(now.awaited);
      }
      if (kernel) {
        to.number(now.state);
        to.number(now.call);
      }
      if (now.run_ns != 0) to.number(now.run_ns);
      if (now.ready_ns != 0) to.number(now.ready_ns);
      last = now;
    }
  }
  void begin_chunk() {
    at_ns_ = 0;
    last_.clear();
  }

 private:
  std::uint64_t at_ns_ = 0;
  std::unordered_map<std::uint64_t, TickThread> last_;
};

// Reads one chunk of ticks: `begin` is called with the time and the number of threads of each tick,
// `each` with each of them, `end` after them.
template <class Begin, class Each, class End>
bool read_ticks(Decoder from, Begin begin, Each each, End end) {
  std::uint64_t at_ns = 0;
  std::unordered_map<std::uint64_t, TickThread> last;
  while (from.more()) {
    at_ns = from.from(at_ns);
    const std::uint64_t count = from.count(2);
    if (!from.good()) break;
    begin(at_ns);
    std::uint64_t tid = 0;
    for (std::uint64_t i = 0; i < count && from.good(); ++i) {
      tid = from.from(tid);
      const std::uint64_t flags = from.number();
      TickThread& now = last[tid];
      now.tid = tid;
      if ((flags & 1) != 0) {
        now.activity = from.number();
        now.object = from.number();
        now.stack = from.number();
        now.awaited = from.number();
      }
      if ((flags & 2) != 0) {
        now.state = from.number();
        now.call = from.number();
      }
      now.run_ns = (flags & 4) != 0 ? from.number() : 0;
      now.ready_ns = (flags & 8) != 0 ? from.number() : 0;
      if (from.good()) each(now);
    }
    end();
  }
  return from.good();
}

// The bits of a sample: the kernel, one of each register that changed, and these.
inline constexpr unsigned kEntryShift = kRegisters.size() + 1;
inline constexpr std::uint64_t kSwitched = std::uint64_t{4} << kEntryShift;
inline constexpr std::uint64_t kPreempted = std::uint64_t{8} << kEntryShift;

class SampleWriter {
 public:
  void put(Encoder& to, const Sample& now) {
    to.from(now.tid, tid_);
    tid_ = now.tid;
    to.from(now.at_ns, at_ns_);
    at_ns_ = now.at_ns;
    to.number(now.stack);
    Sample& last = last_[now.tid];
    std::uint64_t changed = (now.kernel ? 1U : 0U) | now.entry << kEntryShift;
    if (now.switched) changed |= kSwitched;
    if (now.preempted) changed |= kPreempted;
    for (std::size_t i = 0; i < now.registers.size(); ++i) {
      if (now.registers[i] != last.registers[i]) changed |= std::uint64_t{2} << i;
    }
    to.number(changed);
    for (std::size_t i = 0; i < now.registers.size(); ++i) {
      if (now.registers[i] != last.registers[i]) to.from(now.registers[i], last.registers[i]);
    }
    if (now.switched) {
      to.number(now.weight);
      const auto [place, is_new] = names_.try_emplace(now.sleeps_in, names_.size());
      to.number(place->second);
      if (is_new) to.text(now.sleeps_in);
    }
    last = now;
  }
  void begin_chunk() { *this = {}; }

 private:
  std::unordered_map<std::string, std::uint64_t> names_;  // of functions of the kernel
  std::uint64_t tid_ = 0, at_ns_ = 0;
  std::unordered_map<std::uint64_t, Sample> last_;
};

class WakeWriter {
 public:
  void put(Encoder& to, const Wake& now) {
    to.from(now.tid, last_.tid);
    to.from(now.at_ns, last_.at_ns);
    to.number(now.stack);
    to.from(now.woken, last_.woken);
    to.number(now.weight);
    to.number(now.object);
    last_ = now;
  }
  void begin_chunk() { last_ = {}; }

 private:
  Wake last_;
};

template <class Each>
bool read_wakes(Decoder from, Each each) {
  Wake now;
  while (from.more()) {
    now.tid = from.from(now.tid);
    now.at_ns = from.from(now.at_ns);
    now.stack = from.number();
    now.woken = from.from(now.woken);
    now.weight = from.number();
    now.object = from.number();
    if (from.good()) each(now);
  }
  return from.good();
}

template <class Each>
bool read_samples(Decoder from, Each each) {
  std::uint64_t tid = 0;
  std::uint64_t at_ns = 0;
  std::unordered_map<std::uint64_t, Sample> last;
  std::vector<std::string> names;
  while (from.more()) {
    tid = from.from(tid);
    at_ns = from.from(at_ns);
    const std::uint64_t stack = from.number();
    const std::uint64_t changed = from.number();
    if (!from.good()) break;
    Sample& now = last[tid];
    now.tid = tid;
    now.at_ns = at_ns;
    now.stack = stack;
    now.kernel = (changed & 1) != 0;
    for (std::size_t i = 0; i < now.registers.size(); ++i) {
      if ((changed & (std::uint64_t{2} << i)) != 0) {
        now.registers[i] = from.from(now.registers[i]);
      }
    }
    now.entry = changed >> kEntryShift & 3;
    now.switched = (changed & kSwitched) != 0;
    now.preempted = (changed & kPreempted) != 0;
    now.weight = 0;
    now.sleeps_in.clear();
    if (now.switched) {
      now.weight = from.number();
      const std::uint64_t name = from.number();
      if (name == names.size()) names.emplace_back(from.text().substr(0, kMostName));
      if (name < names.size()) now.sleeps_in = names[name];
    }
    if (from.good()) each(now);
  }
  return from.good();
}

}  // namespace threadmark
