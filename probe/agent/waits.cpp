// See waits.hpp. The words of a thread change only in this file.
#include "probe/agent/waits.hpp"

#include "probe/agent/start.hpp"
#include "probe/agent/system.hpp"

namespace threadmark::agent {

namespace {

constexpr std::uint64_t kLong_ns = 20'000;  // a longer brief call has its stack taken
constexpr std::uint64_t kShort_ns = 1'000;  // the mean of holds that are sampled
constexpr std::uint64_t kHoldsToJudge = 64;

void say(Thread& thread, Activity activity, std::uint32_t object, StackId stack,
         std::uint64_t since_ns, std::uint32_t awaited) {
  begin_change(thread.version);
  put(thread.activity, activity);
  put(thread.object, object);
  put(thread.stack, stack);
  put(thread.since_ns, since_ns);
  put(thread.awaited, awaited);
  end_change(thread.version);
}

void say_outer(Thread& thread, const Local* at, std::uint64_t now) {
  if (at != nullptr && at->nested > 0) {
    const Nested& outer = at->waits[at->nested - 1];
    say(thread, outer.activity, outer.object, outer.stack, outer.since_ns, outer.awaited);
  } else {
    say(thread, Activity::running, 0, 0, now, 0);
  }
}

void count_time(Thread& thread, Activity activity, std::uint64_t ns) {
  Thread::Total& total = thread.total[static_cast<std::size_t>(activity)];
  add_own(total.ns, ns);
  add_own(total.times, 1);
}

void count_wait(std::uint32_t index, std::uint64_t ns) {
  Object& object = object_at(index);
  add(object.waits, 1);
  add(object.wait_ns, ns);
  std::uint64_t longest = get(object.longest_ns);
  while (ns > longest && !object.longest_ns.compare_exchange_weak(longest, ns)) {
  }
}

// Whether a wait adds to the weight of holds. A thread that gives up another kind of object notes
// no hold.
bool counts_as_waiter(const Nested& wait) {
  return wait.object != 0 &&
         (wait.activity == Activity::mutex || wait.activity == Activity::read_lock ||
          wait.activity == Activity::write_lock || wait.activity == Activity::spin_lock);
}

void stop_waiting(const Nested& wait) {
  if (counts_as_waiter(wait)) add(object_at(wait.object).waiters, -1);
}

// A wait goes on below a later call only if a handler or a routine, which lies deeper on the stack,
// made that call. In that case the wait's return address is still in its place.
bool was_left(const Nested& wait, std::uint64_t frame) {
  if (wait.frame <= frame) return true;
#if defined(__x86_64__)
  return *reinterpret_cast<const std::uint64_t*>(wait.frame - 8) != wait.back;
#else
  return false;
#endif
}

}  // namespace

void abandon_waits(std::uint64_t frame) {
  Local* at = mine.local;
  if (at == nullptr) return;
  while (at->nested > 0 && was_left(at->waits[at->nested - 1], frame)) {
    stop_waiting(at->waits[--at->nested]);
  }
}

void Wait::begin(Site site, Activity activity, std::uint32_t object, std::int32_t awaited,
                 std::uint64_t since_ns) {
  Thread* thread = self();
  Local* at = local();
  if (thread == nullptr || at == nullptr) return;
  abandon_waits(site.frame);
  if (at->nested == Local::kNested) return;
  const StackId stack = stack_of(site);
  Nested& to = at->waits[at->nested];
  to.frame = frame_ = site.frame;
  to.back = site.back;
  to.activity = activity;
  to.object = object;
  to.awaited = static_cast<std::uint32_t>(awaited);
  to.stack = stack;
  to.holder = object != 0 ? get(object_at(object).holder_stack) : 0;
  to.since_ns = since_ns != 0 ? since_ns : now_ns();
  if (counts_as_waiter(to)) add(object_at(object).waiters, 1);
  depth_ = ++at->nested;
  say(*thread, activity, object, stack, to.since_ns, to.awaited);
}

Wait::Wait(Site site, Activity activity, ObjectKind kind, std::uint64_t address,
           std::int32_t awaited, std::uint64_t since_ns) {
  Busy busy;
  if (!busy) return;
  // From here on, holders of this lock note their stacks.
  auto& filter = filter_of(address);
  if (get(filter) == kCold) put(filter, kHot);
  begin(site, activity, find_or_make_object(kind, address), awaited, since_ns);
}

Wait::Wait(Site site, Activity activity, std::int32_t awaited) {
  Busy busy;
  if (!busy) return;
  begin(site, activity, 0, awaited, 0);
}

// Restores the thread's words. Returns the record of the wait, or null if it was abandoned.
Nested* Wait::finish(std::uint64_t& now) {
  Local* at = mine.local;
  if (at == nullptr || at->nested < depth_ || at->waits[depth_ - 1].frame != frame_) return nullptr;
  while (at->nested > depth_) {  // left by longjmp out of a handler
    stop_waiting(at->waits[--at->nested]);
  }
  Nested& wait = at->waits[--at->nested];
  now = now_ns();
  stop_waiting(wait);
  say_outer(*mine.self, at, now);
  return &wait;
}

Object* Wait::object() const {
  const Local* at = mine.local;
  if (at == nullptr || at->nested < depth_) return nullptr;
  const Nested& wait = at->waits[depth_ - 1];
  return wait.frame != frame_ || wait.object == 0 ? nullptr : &object_at(wait.object);
}

void Wait::end(Activity as) {
  if (depth_ == 0) return;
  Busy busy;
  if (!busy) return;
  std::uint64_t now = 0;
  const Nested* wait = finish(now);
  if (wait == nullptr) return;
  const std::uint64_t ns = now - wait->since_ns;
  count_time(*mine.self, as, ns);
  StackId holder = wait->holder;
  if (wait->object != 0) {
    count_wait(wait->object, ns);
    // A holder from before the first wait noted its stack at the release. A thread that wakes
    // another by signal, post or write is known only after the wait.
    const Object& object = object_at(wait->object);
    if (as != Activity::mutex && as != Activity::read_lock && as != Activity::write_lock &&
        get(object.signal_stack) != 0)
      holder = get(object.signal_stack);
    else if (holder == 0)
      holder = get(object.holder_stack);
  }
  add_pair(wait->object, as, wait->stack, holder, ns);
}

void put_type(std::uint32_t index, const pthread_mutex_t* mutex) {
  const auto kind = static_cast<std::uint32_t>(mutex->__data.__kind);
  put(object_at(index).type, (kind & 3U) | ((kind & 128U) != 0 ? 256U : 0U));
}

void Wait::uses_mutex(const pthread_mutex_t* mutex, bool again) {
  if (depth_ == 0) return;
  Busy busy;
  if (!busy) return;
  Object* condition = object();
  if (condition == nullptr) return;
  if (again) add(condition->futile, 1);
  const std::uint32_t before = get(condition->mutex);
  if (before != 0 && get(object_at(before).address) == address_of(mutex)) return;
  const std::uint32_t index = find_or_make_object(ObjectKind::mutex, address_of(mutex));
  if (index == 0) return;
  put_type(index, mutex);
  put(condition->mutex, index);
}

void Wait::end_condition(bool timed_out, const pthread_mutex_t* mutex) {
  if (depth_ == 0) return;
  Busy busy;
  if (!busy) return;
  std::uint64_t now = 0;
  const Nested* wait = finish(now);
  if (wait == nullptr) return;
  const std::uint64_t ns = now - wait->since_ns;
  if (wait->object == 0) return count_time(*mine.self, Activity::condition, ns);
  const Object& object = object_at(wait->object);
  const std::uint64_t signal = get(object.signal_ns);
  const StackId by = get(object.signal_stack);
  count_wait(wait->object, ns);
  if (timed_out) {
    count_time(*mine.self, Activity::timed_condition, ns);
    return add_pair(wait->object, Activity::timed_condition, wait->stack, 0, ns);
  }
  std::uint64_t relock = 0;
  if (signal >= wait->since_ns && signal <= now) relock = now - signal;
  count_time(*mine.self, Activity::condition, ns - relock);
  add_pair(wait->object, Activity::condition, wait->stack, by, ns - relock);
  if (relock == 0) return;
  count_time(*mine.self, Activity::relock, relock);
  // This thread has the mutex, so the mutex's last noted holder is the previous one.
  const std::uint32_t locked = get(object.mutex);
  add_pair(wait->object, Activity::relock, wait->stack,
           locked == 0 ? 0 : get(object_at(locked).holder_stack), relock);
  auto& filter = filter_of(address_of(mutex));
  if (relock >= kLong_ns && get(filter) == kCold) put(filter, kHot);
}

void Brief::begin(std::uint32_t object) {
  Thread* thread = self();
  if (thread == nullptr) return;
  object_ = object;
  recorded_ = true;
  if (const Local* at = mine.local; at != nullptr && at->held != 0) {
    stack_ = stack_of(site_);
    if (object != 0) holder_ = at->holds[at->held - 1].stack;
  } else if (mine.brief != 0 && object != 0) {
    // The last noted hold of the lock identifies the lock.
    std::uint32_t index = find_object(ObjectKind::mutex, mine.brief);
    if (index == 0) index = find_object(ObjectKind::rwlock, mine.brief);
    if (index != 0) {
      stack_ = stack_of(site_);
      holder_ = get(object_at(index).holder_stack);
    }
  }
  since_ns_ = now_ns();
  say(*thread, activity_, object, stack_, since_ns_, 0);
}

Brief::Brief(Site site, Activity activity, ObjectKind kind, std::uint64_t address)
    : site_(site), activity_(activity) {
  Busy busy;
  if (busy) begin(find_or_make_object(kind, address));
}

Brief::Brief(Site site, Activity activity) : site_(site), activity_(activity) {
  Busy busy;
  if (busy) begin(0);
}

void Brief::end(bool writes, std::int64_t bytes) {
  if (!recorded_) return;
  Busy busy;
  if (!busy || mine.self == nullptr) return;
  const std::uint64_t now = now_ns();
  const std::uint64_t ns = now - since_ns_;
  abandon_waits(site_.frame);
  say_outer(*mine.self, mine.local, now);
  count_time(*mine.self, activity_, ns);
  if (object_ != 0) {
    Object& object = object_at(object_);
    if (writes) {
      add(object.writes, 1);
      if (bytes > 0) add(object.bytes, bytes);
    }
    count_wait(object_, ns);
  }
  if (stack_ == 0 && ns >= kLong_ns) stack_ = stack_of(site_);
  if (stack_ != 0 || ns >= kLong_ns) add_pair(object_, activity_, stack_, holder_, ns);
}

void took(Site site, ObjectKind kind, std::uint64_t address) {
  Busy busy;
  if (!busy) return;
  const std::uint32_t index = find_object(kind, address);
  if (index == 0) return;
  Local* at = local();
  if (at == nullptr) return;
  if (at->held == Local::kHeld) {  // locks that another thread released, or none
    for (std::uint32_t i = 1; i < Local::kHeld; ++i) at->holds[i - 1] = at->holds[i];
    --at->held;
  }
  Held& to = at->holds[at->held++];
  to.key = address;
  to.object = index;
  to.weight = get(filter_of(address)) == kBrief ? kSampled : 1;
  to.stack = stack_of(site);
  Object& object = object_at(index);
  put(object.holder, own_tid());
  put(object.holder_stack, to.stack);
  to.taken_ns = now_ns();
  put(object.taken_ns, to.taken_ns);
}

Ended let_go(Site site, ObjectKind kind, std::uint64_t address, std::uint64_t at_ns) {
  Busy busy;
  if (!busy) return {};
  Local* at = mine.local;
  for (std::uint32_t i = at == nullptr ? 0 : at->held; i > 0; --i) {
    Held& held = at->holds[i - 1];
    if (held.key != address) continue;
    const Ended to{.object = held.object,
                   .weight = held.weight,
                   .waiters = get(object_at(held.object).waiters),
                   .stack = held.stack,
                   .hold_ns = (at_ns != 0 ? at_ns : now_ns()) - held.taken_ns};
    --at->held;
    for (std::uint32_t j = i - 1; j < at->held; ++j) at->holds[j] = at->holds[j + 1];
    put(object_at(to.object).holder, 0);
    return to;
  }
  // The lock was taken before any thread waited. The stack of the release shows the holder to the
  // first waiters.
  if (get(filter_of(address)) != kHot) return {};
  const std::uint32_t index = find_object(kind, address);
  if (index == 0) return {};
  Object& object = object_at(index);
  if (get(object.holder_stack) == 0 && (get(object.waiters) != 0 || kind == ObjectKind::mutex))
    put(object.holder_stack, stack_of(site));
  return {};
}

void account(const Ended& hold, std::uint64_t address) {
  if (hold.object == 0) return;
  Busy busy;
  if (!busy) return;
  Object& object = object_at(hold.object);
  const std::uint64_t holds = add(object.holds, hold.weight) + hold.weight;
  const std::uint64_t ns =
      add(object.hold_ns, hold.hold_ns * hold.weight) + hold.hold_ns * hold.weight;
  add_hold(hold.object, hold.stack, hold.weight, hold.hold_ns, hold.waiters);
  if (holds < kHoldsToJudge) return;
  const Heat heat = ns / holds < kShort_ns ? kBrief : kHot;
  auto& filter = filter_of(address);
  if (get(filter) != heat) put(filter, heat);
}

void named_holder(Site site, ObjectKind kind, std::uint64_t address) {
  Busy busy;
  if (!busy) return;
  const std::uint32_t index = find_object(kind, address);
  if (index != 0) put(object_at(index).holder_stack, stack_of(site));
}

void signalled(Site site, ObjectKind kind, std::uint64_t address, bool all) {
  Busy busy;
  if (!busy) return;
  const std::uint32_t index = find_object(kind, address);
  if (index == 0) return;
  Object& object = object_at(index);
  put(object.signal_stack, stack_of(site));
  // From the signal on, a thread that waited for a condition waits for its mutex.
  if (kind == ObjectKind::condition) put(object.signal_ns, now_ns());
  add(object.signals, 1);
  if (all) add(object.broadcasts, 1);
}

}  // namespace threadmark::agent
