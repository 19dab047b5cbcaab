// The agent's state of the process and of each thread. Everything is off in a child until the agent
// knows that the recorder follows it, because the kernel wipes the control page there.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "probe/agent/words.hpp"
#include "probe/shared.hpp"
#include "probe/unwind/walk.hpp"

namespace threadmark::agent {

// The call site of a wrapped function.
struct Site {
  std::uint64_t back;   // the return address
  std::uint64_t frame;  // the stack pointer after the return
};
#define THREADMARK_SITE                                           \
  ::threadmark::agent::Site {                                     \
    reinterpret_cast<std::uint64_t>(__builtin_return_address(0)), \
        reinterpret_cast<std::uint64_t>(__builtin_dwarf_cfa())    \
  }

// A stack that was unwound at this site before. The stack is the same again if all return addresses
// are still in their places.
struct Known {
  std::uint64_t back, frame;
  StackId id;
  std::uint32_t depth;
  std::uint32_t slots[kMostFrames];  // of each return address, distance from `frame`; 0: none
};

// A lock that this thread holds and that a thread has waited for.
struct Held {
  std::uint64_t key, taken_ns;
  std::uint32_t object, weight;
  StackId stack;
};

// A wait that has begun. There are several if a signal handler or a routine of pthread_once waits.
struct Nested {
  std::uint64_t frame, back, since_ns;
  std::uint32_t object, awaited;  // object: index plus 1
  StackId stack, holder;
  Activity activity;
};

// The agent's memory of a thread that waited.
struct Local {
  static constexpr std::size_t kKnown = 16, kAlike = 8, kHeld = 16, kNested = 4, kRegions = 2;
  std::uint64_t stack_low, stack_high, region_ns;
  struct {
    std::uint64_t low, high;
  } regions[kRegions];  // further stacks: of fibers and signals
  std::uint32_t next_region, next_known, held, nested;
  std::uint64_t walks_since_ns, walked_ns;  // stack walks of about the last second
  bool partial;                             // the last walk ended early, and a later one may not
  Held holds[kHeld];
  Nested waits[kNested];
  Known known[kKnown];
  unwind::Frame frames[kMostFrames];
  unwind::Place place;
  unwind::Scratch scratch;
};
inline constexpr std::size_t kLocalSize = 8192;
static_assert(sizeof(Local) <= kLocalSize);

// The call of pthread_once whose routine is about to run.
struct Once {
  void (*routine)();
  std::uint64_t address;
  Site site;
};

struct OfThread {
  Thread* self;
  Local* local;
  std::int32_t tid;
  bool busy;          // the agent runs in this thread: wrapped calls are the real ones
  bool ended;         // the thread has made its last entry
  std::uint8_t turn;  // acquisitions of brief locks until one is noted
  std::uint32_t random;
  // The lock that the thread took last without noting it, because it is held for a short time; 0:
  // none.
  std::uint64_t brief;
  // The last wait for a condition that was signalled, until the thread unlocks the mutex.
  std::uint64_t woken_mutex, woken_condition, woken_ns;
  Once once;
  std::uint64_t fork_ns;  // of a fork in progress
  StackId fork_stack;
};
extern constinit thread_local OfThread mine [[gnu::tls_model("initial-exec")]];

inline std::uint32_t next_random() {
  mine.random = mine.random * 1664525U + 1013904223U;
  return mine.random >> 16;
}

// A page that is private to the process, and zero in a child after fork.
struct Control {
  static constexpr std::size_t kPage = 4096;
  Shared* shared;
  std::int64_t pid;
};
extern Control* control;

inline Shared* shared() { return control->shared; }

// The heat of objects, by the address's hash. A forked child shares the filter, because its
// addresses are the same. Each lock and unlock reads it, so no pointer leads to it.
enum Heat : std::uint8_t { kCold, kHot, kBrief };  // kBrief: hot, and held for a short time
inline constexpr std::size_t kFilter = 1 << 16;
extern constinit std::atomic<std::uint8_t> heats[kFilter];

inline std::atomic<std::uint8_t>& filter_of(std::uint64_t address) {
  return heats[(address * 0x9e3779b97f4a7c15U) >> 48];
}
template <class Pointer>
std::uint64_t address_of(Pointer* object) {
  return reinterpret_cast<std::uint64_t>(object);
}
template <class Pointer>
[[gnu::always_inline]] inline bool is_hot(Pointer* object) {
  return __builtin_expect(get(filter_of(address_of(object))) != kCold, 0);
}

// The guard of the agent's own work. It is false when the agent must do nothing.
class Busy {
 public:
  Busy() : entered_(!mine.busy && !mine.ended && shared() != nullptr) {
    if (entered_) mine.busy = true;
    keep_order();
  }
  ~Busy() {
    keep_order();
    if (entered_) mine.busy = false;
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  explicit operator bool() const { return entered_; }

 private:
  bool entered_;
};

std::uint64_t hashed(std::uint64_t a, std::uint64_t b);

// The calling thread's slot and memory, made if needed; null if there is none left.
Thread* self();
Local* local();

// A free slot, which is `live` from then on, or null.
Thread* new_thread();
void begin_thread(Thread* thread);
void end_thread();
// Notes the times of the thread that ends its process.
void note_last_times();
[[nodiscard]] std::int32_t own_tid();

// The number of this image, assigned at the first call; 0 if there are no more.
ImageId own_image();

// The stack of the caller of the wrapped function. It has at least the innermost frame, and all
// frames if `whole`. 0: not known.
StackId stack_of(Site site, bool whole = false);

// The target makes an object at this site. The agent remembers the site until a thread waits for
// the object.
void note_made(Site site, ObjectKind kind, std::uint64_t address);

// Index plus 1 of the object; 0 if there is none (or the table is full).
std::uint32_t find_object(ObjectKind kind, std::uint64_t address);
std::uint32_t find_or_make_object(ObjectKind kind, std::uint64_t address);
inline Object& object_at(std::uint32_t index_plus_1) { return shared()->objects[index_plus_1 - 1]; }

void add_pair(std::uint32_t object, Activity activity, StackId waiter, StackId holder,
              std::uint64_t wait_ns);
void add_hold(std::uint32_t object, StackId stack, std::uint32_t weight, std::uint64_t hold_ns,
              std::uint32_t waiters);

}  // namespace threadmark::agent
