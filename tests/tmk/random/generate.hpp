// Makes a program from a seed, so that it cannot deadlock with one thread per task.
//
// The generator plays the program in one serial order: it keeps all strands (a strand is a task or
// a thread, and has a thread of its own under std) and appends one step at a time to one of them.
//
//   Rule 1. A step that waits is appended only after its event has happened in that order.
//   Rule 2. A strand locks only mutexes of a greater rank than all that it holds.
//   Rule 3. A strand that holds mutexes, the greatest of rank r, waits for an event only if every
//           mutex that the event's past has locked, and its own past has not, is of a rank > r.
//
// An event's past is all steps that it may have waited for, with one library or another; a strand's
// own past, in rule 3, is the steps that it has waited for with every library. Suppose that all
// unfinished strands are stuck. Take the unfinished step that is first in the serial order: by rule
// 1 its event has happened, so the step locks a mutex. Its holder is stuck, too. If the
// holder locks a mutex, that has a greater rank by rule 2. If it waits for an event, the first
// unfinished step of that event's past locks a mutex of a greater rank by rule 3. Either way there
// is another stuck holder, of a mutex of a greater rank: for ever, but ranks are finite.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "program.hpp"

namespace random_programs {

struct Options {
  bool forked_tasks = true;  // a child of fork may start threads
  Id largest_crowd = 1200;
};

class Generator {
 public:
  Generator(std::uint64_t seed, Id size, const Options& options)
      : random_(seed), options_(options) {
    program_.seed = seed;
    Id drawn = 4 + random_.below(Id{1} << random_.between(2, 7));
    if (size != 0) drawn = size;
    program_.size = drawn;
    program_.timer = random_.one_in(12);
    program_.promises.assign(8, kNeverSet);
    promised_.resize(8);
    for (auto& weight : weights_) weight = random_.one_in(2) ? 0 : 1 + random_.below(4);
    for (const Op op : {Op::join, Op::publish, Op::await_kill}) {  // they come with others
      weights_[static_cast<std::size_t>(op)] = 0;
    }
    raise(Op::async, 6);
    raise(Op::get, 3);
    raise(Op::busy, 1);
    // These take long.
    for (const Op op : {Op::fork, Op::exec, Op::crowd, Op::pool_run, Op::nap, Op::recurse}) {
      auto& weight = weights_[static_cast<std::size_t>(op)];
      weight = std::min(weight, Id{1});
    }
    // Each takes a quarter of a second, until the runtime sees that a task starves.
    if (!random_.one_in(12)) weights_[static_cast<std::size_t>(Op::window)] = 0;
    add_strand(kMain, add_body());
  }

  Program make() {
    for (Id i = 0; i < program_.size; ++i) step();
    while (live_.size() > 1) {
      const Id id = live_[1 + random_.below(live_.size() - 1)];
      if (awake(id)) end_frame(id);
    }
    Strand& main = strands_[0];
    while (!awake(0) || main.frames.size() > 1) end_frame(0);
    while (!main.top().locks.empty()) unlock(main);
    for (Id box = 0; box < program_.boxes; ++box) {
      if (!boxes_[box].taken) take(main, box);
    }
    end_frame(0);
    return std::move(program_);
  }

 private:
  static constexpr std::size_t kMostLocks = 256, kMostStrands = 48;
  struct Past {                              // a set of the program's lock steps
    std::bitset<kMostLocks> sure, possible;  // with every library, and with some
    Past& operator|=(const Past& other) {
      sure |= other.sure;
      possible |= other.possible;
      return *this;
    }
    void set(std::size_t lock) {
      sure.set(lock);
      possible.set(lock);
    }
  };

  enum Kind : std::uint8_t { kMain, kTask, kOwnThread, kForeign, kBranch };
  enum Inner : std::uint8_t { kBottom, kCall, kJoins, kPool };  // the reason to enter a frame
  struct Frame {
    Id body;
    Inner inner;
    std::vector<Id> slots{};
    std::vector<Id> threads{};
    std::vector<std::vector<Id>> locks{};
    std::vector<Id> awaited{};  // strands, at the end
    Id pool = 0, floor_before = 0;
  };
  struct Strand {
    Kind kind;
    std::vector<Frame> frames;
    std::vector<Id> awaited{};  // strands that end before it goes on
    bool surely = true;         // with std too
    std::vector<Id> at_exit{};
    std::vector<Id> pools{};  // inside which it was made, or is
    Past past{};
    Id floor = 0;  // the greatest rank held by strands that wait for it
    Id stack_kib = 8192;
    bool posix = false;  // a thread that std did not make
    bool ended = false;
    Frame& top() { return frames.back(); }
  };
  struct Event {
    bool happened = false;
    Past past{};
  };
  struct BodyState {
    Event end;
    bool plain = false;  // it brings no slots with its result
    bool deferred = false;
  };
  struct Box {
    Id slot;
    Past past;
    std::vector<Id> pools;
    bool taken = false;
  };

  // ---- the parts of a program ----

  Id add_body() {
    program_.bodies.emplace_back();
    bodies_.emplace_back();
    return static_cast<Id>(program_.bodies.size() - 1);
  }
  Id add_slot(Slot::Kind kind, Id producer, bool shared = false) {
    program_.slots.push_back({.kind = kind, .shared = shared, .producer = producer});
    return static_cast<Id>(program_.slots.size() - 1);
  }
  Id add_strand(Kind kind, Id body, const Strand* maker = nullptr) {
    Strand strand{.kind = kind, .frames = {}};
    if (maker != nullptr) {
      strand.past = maker->past;
      strand.pools = maker->pools;
      strand.floor = maker->floor;
    }
    strand.frames.push_back({.body = body, .inner = kBottom});
    strands_.push_back(std::move(strand));
    live_.push_back(static_cast<Id>(strands_.size() - 1));
    return live_.back();
  }
  void emit(Strand& strand, Step step) {
    program_.bodies[strand.top().body].steps.push_back(std::move(step));
  }

  // ---- possible waits ----

  static Id held(const Strand& strand) {
    Id most = strand.floor;
    for (const Frame& frame : strand.frames) {
      for (const auto& lock : frame.locks) most = std::max(most, *std::ranges::max_element(lock));
    }
    return most;
  }
  bool may_wait(const Strand& strand, const Past& past) const {
    const Id most = held(strand);
    const auto news = past.possible & ~strand.past.sure;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      if (news[i] && ranks_[i] <= most) return false;
    }
    return true;
  }
  bool happened(Id slot) const {
    const Slot& is = program_.slots[slot];
    switch (is.kind) {
      case Slot::promise:
        return promised_[is.producer].happened;
      case Slot::all:
        return std::ranges::all_of(is.parts, [&](Id part) { return happened(part); });
      default:
        return bodies_[is.producer].end.happened;
    }
  }
  Past past_of(Id slot) const {
    const Slot& is = program_.slots[slot];
    if (is.kind == Slot::promise) return promised_[is.producer].past;
    if (is.kind != Slot::all) return bodies_[is.producer].end.past;
    Past all;
    for (const Id part : is.parts) all |= past_of(part);
    return all;
  }
  bool ready_for(const Strand& strand, Id slot) const {
    return happened(slot) && may_wait(strand, past_of(slot));
  }
  bool deferred(Id slot) const {
    const Slot& is = program_.slots[slot];
    return is.kind == Slot::body && bodies_[is.producer].deferred;
  }
  // Whether its result brings no slots, then or later.
  bool plain(Id slot) {
    const Slot& is = program_.slots[slot];
    if (is.kind != Slot::body) return true;
    BodyState& state = bodies_[is.producer];
    if (!state.end.happened) state.plain = true;
    return program_.bodies[is.producer].carries.empty();
  }

  // ---- slots of a frame ----

  template <class F>
  bool pick(Strand& strand, Id& found, const F& wanted) {
    std::vector<Id> fitting;
    for (const Id slot : strand.top().slots) {
      if (wanted(slot)) fitting.push_back(slot);
    }
    if (fitting.empty()) return false;
    found = random_.of(fitting);
    return true;
  }
  static void remove(Strand& strand, Id slot) { std::erase(strand.top().slots, slot); }
  std::vector<Id> give_some(Strand& strand) {
    std::vector<Id> given;
    while (!strand.top().slots.empty() && given.size() < 3 && random_.one_in(2)) {
      const Id slot = random_.of(strand.top().slots);
      remove(strand, slot);
      given.push_back(slot);
    }
    return given;
  }
  void get(Id id, Id slot) {  // it has happened
    Strand& strand = strands_[id];
    strand.past |= past_of(slot);
    emit(strand, {.op = Op::get, .a = slot});
    const Slot& is = program_.slots[slot];
    if (is.shared) return;
    remove(strand, slot);
    if (is.kind != Slot::body) return;
    for (const Id each : program_.bodies[is.producer].carries) strand.top().slots.push_back(each);
  }
  void may_await(Strand& strand, Id slot) {  // the destructor of an async's last future waits
    if (happened(slot)) strand.past.possible |= past_of(slot).possible;
  }
  void drop(Strand& strand, Id slot) {
    may_await(strand, slot);
    remove(strand, slot);
    emit(strand, {.op = Op::drop, .a = slot});
  }
  void put(Strand& strand, Id slot) {
    remove(strand, slot);
    emit(strand, {.op = Op::put, .a = slot, .b = program_.boxes++});
    boxes_.push_back({.slot = slot, .past = strand.past, .pools = strand.pools});
  }
  void take(Strand& strand, Id box) {
    boxes_[box].taken = true;
    strand.past |= boxes_[box].past;
    strand.top().slots.push_back(boxes_[box].slot);
    emit(strand, {.op = Op::take, .a = box, .b = boxes_[box].slot});
  }

  // ---- frames and strands ----

  void enter(Id id, Id body, Inner inner) {
    strands_[id].frames.push_back({.body = body, .inner = inner});
  }
  // Whether a strand can go on; the event that it waited for then belongs to its past.
  bool awake(Id id) {
    Strand& strand = strands_[id];
    if (strand.ended) return false;
    for (const Id other : strand.awaited) {
      if (!strands_[other].ended) return false;
    }
    for (const Id other : strand.awaited) {
      strand.past.possible |= strands_[other].past.possible;
      if (strand.surely) strand.past.sure |= strands_[other].past.sure;
    }
    strand.awaited.clear();
    return true;
  }
  void unlock(Strand& strand) {
    strand.top().locks.pop_back();
    emit(strand, {.op = Op::unlock});
  }
  bool end_frame(Id id) {
    Strand& strand = strands_[id];
    for (const auto& [thread, body] : threads_of(strand)) {
      if (!strands_[thread_strands_[thread]].ended) return false;
    }
    while (!strand.top().locks.empty()) unlock(strand);
    for (const auto& [thread, body] : threads_of(strand)) {
      strand.past |= strands_[thread_strands_[thread]].past;
      emit(strand, {.op = Op::join, .a = thread, .b = body});
    }
    strand.top().threads.clear();
    Frame& frame = strand.top();
    Body& body = program_.bodies[frame.body];
    const bool task = frame.inner == kBottom && (strand.kind == kTask || strand.kind == kOwnThread);
    body.throws = random_.one_in(6) && strand.kind != kMain &&
                  !(frame.inner == kBottom && strand.kind == kForeign) &&
                  !never_throws_[frame.body];
    const bool carries = task && !body.throws && !bodies_[frame.body].plain;
    for (bool again = true; again;) {  // getting one may bring others
      again = false;
      for (const Id slot : std::vector<Id>(strand.top().slots)) {
        const bool is_plain = plain_now(slot), ready = ready_for(strand, slot);
        if (deferred(slot) || (program_.slots[slot].kind == Slot::promise && !happened(slot))) {
          if (random_.one_in(2)) drop(strand, slot);  // or leave it to the end of the frame
          continue;
        }
        if (carries && younger(slot, strand.top().body) && random_.one_in(2)) {
          program_.bodies[strand.top().body].carries.push_back(slot);
          remove(strand, slot);
        } else if (ready && (!is_plain || random_.one_in(2))) {
          get(id, slot);
          again = again || !is_plain;
          if (program_.slots[slot].shared) leave(strand, slot);
        } else if (ready && plain(slot)) {
          leave(strand, slot);
        } else {
          put(strand, slot);
        }
      }
    }
    Frame done = std::move(strand.top());
    strand.frames.pop_back();
    bodies_[done.body].end = {.happened = true, .past = strand.past};
    strand.awaited = std::move(done.awaited);
    strand.surely = done.inner != kPool;
    if (done.inner == kPool) {
      strand.floor = done.floor_before;
      for (Id other = 0; other < strands_.size(); ++other) {
        const auto& pools = strands_[other].pools;
        if (other != id && std::ranges::find(pools, done.pool) != pools.end()) {
          strand.awaited.push_back(other);
        }
      }
      strand.pools.pop_back();
    }
    if (!strand.frames.empty()) return true;
    for (const Id promise : strand.at_exit) {
      promised_[promise] = {.happened = true, .past = strand.past};
    }
    strand.ended = true;
    std::erase(live_, id);
    return true;
  }
  // A result carries futures of younger bodies only, so that no result holds itself.
  bool younger(Id slot, Id body) const {
    const Slot& is = program_.slots[slot];
    if (is.kind == Slot::all) {
      return std::ranges::all_of(is.parts, [&](Id part) { return younger(part, body); });
    }
    return is.kind == Slot::promise || is.producer > body;
  }
  // Dropped now or with its frame.
  void leave(Strand& strand, Id slot) {
    if (random_.one_in(2)) return drop(strand, slot);
    may_await(strand, slot);
    remove(strand, slot);  // the frame still has it
  }
  bool plain_now(Id slot) const {
    const Slot& is = program_.slots[slot];
    return is.kind != Slot::body || program_.bodies[is.producer].carries.empty();
  }
  std::vector<std::pair<Id, Id>> threads_of(Strand& strand) const {
    std::vector<std::pair<Id, Id>> all;
    for (const Id thread : strand.top().threads) all.emplace_back(thread, thread_bodies_[thread]);
    return all;
  }

  // ---- one step ----

  void step() {
    for (int tries = 0; tries < 40; ++tries) {
      const Id id = random_.one_in(4) ? live_.back() : random_.of(live_);
      if (!awake(id)) continue;
      if (random_.one_in(8) && (id != 0 || strands_[0].frames.size() > 1)) {
        if (end_frame(id)) return;
        continue;
      }
      Id sum = 0;
      for (const Id weight : weights_) sum += weight;
      Id at = random_.below(sum);
      std::size_t op = 0;
      while (at >= weights_[op]) at -= weights_[op++];
      if (append(id, static_cast<Op>(op))) return;
    }
  }
  void raise(Op op, Id least) {
    auto& weight = weights_[static_cast<std::size_t>(op)];
    weight = std::max(weight, least);
  }
  bool crowded() const { return live_.size() >= kMostStrands; }
  Id pause() { return random_.below(kPauses); }

  bool append(Id id, Op op) {  // false: it cannot come here
    Strand& strand = strands_[id];
    Id slot = 0;
    const bool roomy = strand.stack_kib >= 8192;
    switch (op) {
      case Op::async:
        return append_async(id);
      case Op::thread: {
        if (crowded()) return false;
        const Id kib = random_.one_in(2) ? 0 : 128u << random_.below(4);
        const auto given = give_some(strand);
        const Id made = add_thread(id, add_body(), kib, given);
        const Id body = strands_[made].top().body;
        emit(strands_[id], {.op = Op::thread,
                            .a = body,
                            .b = kib,
                            .c = static_cast<Id>(thread_strands_.size() - 1),
                            .list = given});
        return true;
      }
      case Op::get:
        if (!pick(strand, slot, [&](Id s) { return deferred(s) || ready_for(strand, s); })) {
          return false;
        }
        if (!deferred(slot)) return get(id, slot), true;
        remove(strand, slot);
        emit(strand, {.op = Op::get, .a = slot});
        enter(id, program_.slots[slot].producer, kCall);
        return true;
      case Op::wait:
      case Op::poll:
        if (!pick(strand, slot, [&](Id s) { return !deferred(s) && ready_for(strand, s); })) {
          return false;
        }
        strand.past |= past_of(slot);
        emit(strand, {.op = op, .a = slot, .b = random_.below(4)});
        return true;
      case Op::peek:
        if (!pick(strand, slot, [&](Id s) { return !deferred(s); })) return false;
        emit(strand, {.op = op, .a = slot, .b = random_.below(3)});
        return true;
      case Op::share:
        if (!pick(strand, slot, [&](Id s) {
              const Slot& is = program_.slots[s];
              return !is.shared && is.kind != Slot::all && !deferred(s) && plain(s);
            })) {
          return false;
        }
        return renew(strand, slot, op);
      case Op::copy:
        if (!pick(strand, slot, [&](Id s) { return program_.slots[s].shared; })) return false;
        return renew(strand, slot, op);
      case Op::drop:
        if (!pick(strand, slot,
                  [&](Id s) { return deferred(s) || (ready_for(strand, s) && plain(s)); })) {
          return false;
        }
        return drop(strand, slot), true;
      case Op::set_flag:
        flags_.push_back({.happened = true, .past = strand.past});
        emit(strand, {.op = op, .a = program_.flags++});
        return true;
      case Op::wait_flag: {
        if (flags_.empty()) return false;
        const Id flag = random_.below(flags_.size());
        if (!may_wait(strand, flags_[flag].past)) return false;
        strand.past |= flags_[flag].past;
        emit(strand, {.op = op, .a = flag, .b = pause()});
        return true;
      }
      case Op::lock:
      case Op::lock_two: {
        const Id most = held(strand), count = op == Op::lock ? 1 : 2;
        if (most + count > kMutexes || ranks_.size() + count > kMostLocks) return false;
        std::vector<Id> wanted{random_.between(most + 1, kMutexes + 1 - count)};
        if (count == 2) wanted.push_back(random_.between(wanted[0] + 1, kMutexes));
        for (const Id rank : wanted) {
          strand.past.set(ranks_.size());
          ranks_.push_back(rank);
        }
        emit(strand, {.op = op, .a = wanted.front(), .b = wanted.back()});
        strand.top().locks.push_back(std::move(wanted));
        return true;
      }
      case Op::unlock:
        if (strand.top().locks.empty()) return false;
        return unlock(strand), true;
      case Op::meet:
        return append_meet();
      case Op::set_promise:
      case Op::set_at_exit: {
        const Id promise = random_.below(program_.promises.size());
        if (program_.promises[promise] != kNeverSet) return false;
        if (op == Op::set_at_exit) {
          if (strand.frames.size() > 1 || strand.kind == kMain || strand.kind == kBranch ||
              strand.posix) {
            return false;
          }
          program_.promises[promise] = kAtExit;
          strand.at_exit.push_back(promise);
          emit(strand, {.op = op, .a = promise});
          return true;
        }
        program_.promises[promise] = random_.below(4);
        promised_[promise] = {.happened = true, .past = strand.past};
        emit(strand, {.op = op, .a = promise, .b = program_.promises[promise]});
        return true;
      }
      case Op::claim: {
        const Id promise = random_.below(program_.promises.size());
        if (claimed_[promise]) return false;
        claimed_[promise] = true;
        slot = add_slot(Slot::promise, promise);
        strand.top().slots.push_back(slot);
        emit(strand, {.op = op, .a = promise, .b = slot});
        return true;
      }
      case Op::put:
        if (!pick(strand, slot, [](Id) { return true; })) return false;
        return put(strand, slot), true;
      case Op::take:
        for (Id box = 0; box < boxes_.size(); ++box) {
          if (!boxes_[box].taken && boxes_[box].pools == strand.pools &&
              may_wait(strand, boxes_[box].past)) {
            return take(strand, box), true;
          }
        }
        return false;
      case Op::when_all: {
        std::vector<Id> parts;
        while (parts.size() < 4 && pick(strand, slot, [&](Id s) {
                 const Slot& is = program_.slots[s];
                 return !is.shared && is.kind == Slot::body && !deferred(s) && plain(s);
               })) {
          remove(strand, slot);
          parts.push_back(slot);
        }
        if (parts.empty()) return false;
        slot = add_slot(Slot::all, 0);
        program_.slots[slot].parts = parts;
        strand.top().slots.push_back(slot);
        emit(strand, {.op = op, .a = slot, .list = parts});
        return true;
      }
      case Op::packaged:
        return append_packaged(id);
      case Op::fork_join:
      case Op::scope:
        return append_branches(id, op);
      case Op::pool_run: {
        if (strand.pools.size() > 1) return false;
        const Id body = add_body();
        emit(strand, {.op = op, .a = body, .b = random_.between(1, 3), .c = random_.below(3)});
        enter(id, body, kPool);
        strand.top().pool = ++pools_;
        strand.pools.push_back(pools_);
        strand.top().floor_before = std::exchange(strand.floor, held(strand));
        return true;
      }
      case Op::keep: {
        if (strand.frames.size() > 1 || strand.kind == kTask || strand.kind == kBranch) {
          return false;
        }
        Id what = random_.below(kKeeps);
        if (what >= kGetHeld) {
          if (!pick(strand, slot, [&](Id s) {
                return program_.slots[s].kind != Slot::all && !deferred(s) &&
                       ready_for(strand, s) && plain(s);
              })) {
            return false;
          }
          may_await(strand, slot);
          remove(strand, slot);
        }
        if (what != kTouch) ++program_.keeps;
        emit(strand, {.op = op, .a = random_.below(4), .b = what, .c = slot});
        return true;
      }
      case Op::fib:
        emit(strand, {.op = op, .a = random_.between(2, 9), .b = random_.below(3)});
        return true;
      case Op::crowd:
        emit(strand, crowd());
        return true;
      case Op::window:
        emit(strand, {.op = op, .a = random_.between(1, 8), .b = random_.between(1, 3)});
        return true;
      case Op::storm:
        emit(strand, {.op = op, .a = random_.between(2, 40), .b = random_.between(2, 5)});
        return true;
      case Op::fork:
        emit(strand, {.op = op, .a = options_.forked_tasks ? random_.below(kForks) : kForkEnds});
        return true;
      case Op::exec:
        emit(strand, {.op = op, .a = random_.below(kExecs)});
        return true;
      case Op::raise:
        emit(strand, {.op = op, .a = random_.below(2)});
        return true;
      case Op::kill:
        ++program_.kills;
        emit(strand, {.op = op});
        return true;
      case Op::kill_thread:
        return append_kill(id);
      case Op::stack:
        if (!roomy) return false;
        emit(strand, {.op = op, .a = random_.between(1, 16) << 16});
        return true;
      case Op::recurse:
        emit(strand,
             {.op = op, .a = random_.between(2, 9), .b = (1u << random_.between(0, 4)) << 16});
        return true;
      case Op::busy:
      case Op::nap:
        emit(strand, {.op = op, .a = random_.below(random_.one_in(4) ? 1000 : 100)});
        return true;
      case Op::join:  // at the end of its frame
      case Op::publish:
      case Op::await_kill:
        break;
    }
    return false;
  }
  bool renew(Strand& strand, Id slot, Op op) {
    const Slot is = program_.slots[slot];
    const Id fresh = add_slot(is.kind, is.producer, true);
    if (op == Op::share) remove(strand, slot);
    strand.top().slots.push_back(fresh);
    emit(strand, {.op = op, .a = slot, .b = fresh});
    return true;
  }
  bool append_async(Id id) {
    if (crowded()) return false;
    const Id policy = random_.one_in(2) ? kAsync : random_.below(kPolicies);
    const Id body = add_body(), slot = add_slot(Slot::body, body);
    std::vector<Id> given;
    if (policy == kDeferred) {
      bodies_[body].deferred = program_.bodies[body].optional = true;
    } else {
      given = give_some(strands_[id]);
      const Id made = add_strand(policy == kThread ? kOwnThread : kTask, body, &strands_[id]);
      strands_[made].top().slots = given;
    }
    Strand& strand = strands_[id];
    strand.top().slots.push_back(slot);
    emit(strand, {.op = Op::async, .a = body, .b = policy, .c = slot, .list = given});
    return true;
  }
  Id add_thread(Id id, Id body, Id kib, const std::vector<Id>& given) {
    const Id made = add_strand(kForeign, body, &strands_[id]);
    strands_[made].top().slots = given;
    // The strand that joins it holds these locks while it waits, and no lock of the joining frame.
    strands_[made].floor = held(strands_[id]);
    strands_[made].posix = kib != 0;
    if (kib != 0) strands_[made].stack_kib = kib;
    strands_[id].top().threads.push_back(program_.threads++);
    thread_strands_.push_back(made);
    thread_bodies_.push_back(body);
    return made;
  }
  bool append_packaged(Id id) {
    if (crowded()) return false;
    const Id body = add_body(), slot = add_slot(Slot::body, body), runner = random_.below(3);
    bodies_[body].plain = true;
    std::vector<Id> list;
    if (runner == 1) {
      list.push_back(add_slot(Slot::runner, body));
      add_strand(kTask, body, &strands_[id]);
    } else if (runner == 2) {
      add_thread(id, body, 0, {});
      thread_bodies_.back() = kNoBody;
      list.push_back(static_cast<Id>(thread_strands_.size() - 1));
      bodies_[body].plain = true;
    }
    Strand& strand = strands_[id];
    strand.top().slots.push_back(slot);
    if (runner == 1) strand.top().slots.push_back(list[0]);
    emit(strand, {.op = Op::packaged, .a = body, .b = runner, .c = slot, .list = list});
    if (runner == 0) enter(id, body, kCall);
    return true;
  }
  bool append_branches(Id id, Op op) {
    if (crowded()) return false;
    const Id count = random_.between(2, 4), floor = held(strands_[id]);
    std::vector<Id> bodies, made;
    for (Id i = 0; i < count; ++i) {
      bodies.push_back(add_body());
      if (op == Op::scope) never_throws_[bodies.back()] = true;
      if (i == 0) continue;
      made.push_back(add_strand(kBranch, bodies.back(), &strands_[id]));
      strands_[made.back()].floor = floor;
    }
    emit(strands_[id], {.op = op, .b = random_.below(2), .list = bodies});
    enter(id, bodies[0], kJoins);
    strands_[id].top().awaited = made;
    return true;
  }
  bool append_meet() {
    std::vector<Id> met;
    const std::size_t most = random_.between(2, 6);
    for (int tries = 0; tries < 20 && met.size() < most; ++tries) {
      const Id id = random_.of(live_);
      if (!awake(id) || std::ranges::find(met, id) != met.end()) continue;
      met.push_back(id);
    }
    Past all;
    for (std::size_t before = 0; before != met.size();) {
      before = met.size();
      all = {};
      for (const Id id : met) all |= strands_[id].past;
      std::erase_if(met, [&](Id id) { return !may_wait(strands_[id], all); });
    }
    if (met.size() < 2) return false;
    const Id meeting = static_cast<Id>(program_.meetings.size());
    program_.meetings.push_back(
        {.count = static_cast<Id>(met.size()), .way = random_.below(kWays)});
    for (const Id id : met) {
      strands_[id].past |= all;
      emit(strands_[id], {.op = Op::meet, .a = meeting});
    }
    return true;
  }
  bool append_kill(Id by) {
    const Id of = random_.of(live_);
    if (of == by || !awake(of)) return false;
    Strand &killer = strands_[by], &target = strands_[of];
    if (!may_wait(killer, target.past) || !may_wait(target, killer.past)) {
      return false;
    }
    const Id number = program_.targets++;
    emit(target, {.op = Op::publish, .a = number});
    emit(killer, {.op = Op::kill_thread, .a = number});
    emit(target, {.op = Op::await_kill, .a = number, .b = pause()});
    killer.past |= target.past;
    target.past |= killer.past;
    return true;
  }
  Step crowd() {
    const Id way = random_.below(kWays);
    Id count = random_.between(2, 12);
    if (way == kBySpin) {
      count = random_.between(2, 3);
    } else if (random_.one_in(8)) {
      const bool polls = way >= kByYield;  // polling takes long with std too
      count = random_.between(13, polls ? 40 : 300);
      if (!polls && random_.one_in(8)) count = 1000 + random_.below(200);
    }
    return {.op = Op::crowd,
            .a = std::min(count, options_.largest_crowd),
            .b = way,
            .c = random_.below(3)};
  }

  Random random_;
  Options options_;
  Program program_;
  std::array<Id, kOps> weights_{};
  std::deque<Strand> strands_;
  std::vector<Id> live_;   // main's first
  std::vector<Id> ranks_;  // of each lock step
  std::vector<BodyState> bodies_;
  std::vector<Event> promised_, flags_;
  std::vector<Box> boxes_;
  std::vector<Id> thread_strands_, thread_bodies_;
  std::array<bool, 8> claimed_{};
  std::map<Id, bool> never_throws_;
  Id pools_ = 0;
};

}  // namespace random_programs
