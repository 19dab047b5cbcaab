// A wait from its beginning to its end, and the notes of a lock's holder. See probe/protocol.md.
#pragma once

#include <pthread.h>

#include <cstdint>

#include "probe/agent/state.hpp"

namespace threadmark::agent {

// The object that a wrapper of a waiting function has on its stack while the real function runs.
// The agent is not busy meanwhile, so cleanup handlers, signal handlers and routines may call
// wrapped functions.
class Wait {
 public:
  // Takes the stack of the caller; for waits that are long as a rule. Reading the clock is a good
  // part of their cost, so a caller that knows the time passes it on; 0: not known.
  Wait(Site site, Activity activity, ObjectKind kind, std::uint64_t address,
       std::int32_t awaited = 0, std::uint64_t since_ns = 0);
  // A wait without an object.
  Wait(Site site, Activity activity, std::int32_t awaited = 0);
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

  void end(Activity as);
  // Names the mutex of a wait for a condition. `again`: the previous wait was for nothing.
  void uses_mutex(const pthread_mutex_t* mutex, bool again);
  // Ends a wait for a condition: up to the last signal it was a wait for the condition, then a wait
  // for the mutex.
  void end_condition(bool timed_out, const pthread_mutex_t* mutex);

 private:
  void begin(Site site, Activity activity, std::uint32_t object, std::int32_t awaited,
             std::uint64_t since_ns);
  Nested* finish(std::uint64_t& now);
  [[nodiscard]] Object* object() const;
  std::uint32_t depth_ = 0;  // 0: nothing was recorded
  std::uint64_t frame_ = 0;
};

// A call that mostly takes a short time. The agent takes its stack after the call if the call took
// long, and before the call if the thread has a lock that others waited for.
class Brief {
 public:
  Brief(Site site, Activity activity, ObjectKind kind, std::uint64_t address);
  Brief(Site site, Activity activity);
  Brief(const Brief&) = delete;
  Brief& operator=(const Brief&) = delete;
  // `bytes`: the bytes that a writing call has written; below 0: the call failed.
  void end(bool writes = false, std::int64_t bytes = -1);

 private:
  void begin(std::uint32_t object);
  Site site_;
  bool recorded_ = false;
  Activity activity_;
  std::uint32_t object_ = 0;
  StackId stack_ = 0, holder_ = 0;  // holder_: of that lock; 0: no lock, or no object
  std::uint64_t since_ns_ = 0;
};

// The agent notes locks that are held for a short time once in kSampled times, because other
// threads wait while it does. The distance is random: else the agent would see only one of two
// locks that are taken in turn.
inline constexpr std::uint32_t kSampled = 64;
inline bool is_worth_noting(std::uint64_t address) {
  if (get(filter_of(address)) != kBrief) return true;
  if (mine.turn != 0) {
    --mine.turn;
    mine.brief = address;
    return false;
  }
  mine.turn = static_cast<std::uint8_t>(kSampled / 2 + next_random() % kSampled);
  return true;
}
inline bool is_noted(std::uint64_t address) {
  return get(filter_of(address)) != kBrief || (mine.local != nullptr && mine.local->held != 0);
}

// The type of a mutex whose object is known.
void put_type(std::uint32_t index, const pthread_mutex_t* mutex);

// The thread took a lock that a thread has waited for at some time.
void took(Site site, ObjectKind kind, std::uint64_t address);

// The hold that ends when a thread unlocks a lock.
struct Ended {
  std::uint32_t object = 0, weight = 0, waiters = 0;
  StackId stack = 0;
  std::uint64_t hold_ns = 0;
};
// let_go() comes before the lock is free, and account() after, when it no longer delays other
// threads.
Ended let_go(Site site, ObjectKind kind, std::uint64_t address, std::uint64_t at_ns = 0);
void account(const Ended& hold, std::uint64_t address);

// Others wait for the caller at an object that the agent may know.
void named_holder(Site site, ObjectKind kind, std::uint64_t address);

// The target signals a condition, or posts to a semaphore.
void signalled(Site site, ObjectKind kind, std::uint64_t address, bool all);

}  // namespace threadmark::agent
