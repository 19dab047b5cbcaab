// The worker: a deque of pending tasks and the memory they are made of; long because the steps of
// its owner and of its thieves are one protocol. scheduler.md holds it and the argument; its step
// names are the tags of the memory orders here.
//
// Do not confuse a worker with a thread: a thread binds one when it first uses tmk and gives it
// back when it ends; workers are never freed, so a pointer to one, or to a task, is never dangling.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>

#include "platform.hpp"

namespace tmk::detail {

class Pool;
struct Task;
struct Worker;
void count_thread(Worker& worker);  // at its first push, the thread counts among those that run

struct Operations {
  void (*run)(Task&);  // calls the callable, leaves the outcome in the block; null: there is none
  void (*destroy)(Task&) noexcept;  // ends what the block holds and gives its memory back
};

// Bits of Task::state.
inline constexpr std::uint32_t kReady =
    1;  // the outcome is there; its runner is done with the task
inline constexpr std::uint32_t kWaited = 2;  // somebody sleeps on the word
inline constexpr std::uint32_t kFailed = 4;  // the outcome is an exception; set with kReady
inline constexpr std::uint32_t kStarted =
    8;  // a deferred call has a runner; a promise is satisfied
inline constexpr std::uint32_t kRetrieved = 16;  // a promise's future was handed out

// The head of every shared state: of a task in a deque, of a deferred call, of a promise.
struct Task {
  static constexpr std::size_t claimed = SIZE_MAX;

  std::atomic<std::uint32_t> state{0};
  std::atomic<std::uint32_t> references{1};
  const Operations* operations = nullptr;
  Worker* worker = nullptr;           // whose deque it went to; null: it never was in one
  std::atomic<std::size_t> index{0};  // there, or `claimed`; in free memory the next free block

  bool ready() const {
    // ORDER see-ready: acquire, pairs with publish-ready. With kReady comes the outcome.
    return (state.load(std::memory_order_acquire) & kReady) != 0;
  }
  // The word with which a waiter may go to sleep; whoever publishes will wake it.
  std::uint32_t announce_wait() { return state.fetch_or(kWaited) | kWaited; }
  // The outcome is in place (`failed`: an exception). The last access of the runner.
  void publish(bool failed) {
    const std::uint32_t bits = kReady | (failed ? kFailed : 0u);
    // ORDER publish-ready: release, pairs with see-ready.
    const std::uint32_t before = state.fetch_or(bits, std::memory_order_release);
    TMK_ASSERT((before & kReady) == 0);
    if ((before & kWaited) != 0) futex_wake(state, INT_MAX);
  }
  void release() {
    // ORDER last-reference: acq_rel, and acquire of the only reference, pairs with last-reference.
    // The thread that destroys sees what all others did before they let go.
    if (references.load(std::memory_order_acquire) == 1 ||
        references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      operations->destroy(*this);
    }
  }
};

class SpinLock {
 public:
  bool try_lock() {
    // ORDER lock-worker: acquire, pairs with unlock-worker; the look before is relaxed, rechecked
    // by lock-worker.
    return !word_.load(std::memory_order_relaxed) &&
           !word_.exchange(true, std::memory_order_acquire);
  }
  void lock() {
    for (int spins = 0; !try_lock(); ++spins) {
      if (spins < 64) {
        pause();
      } else if (spins < 1000) {
        sched_yield();  // the holder lost its processor; its section is short
      } else {
        // The holder may have a lower real-time priority, and then a yield gives it nothing.
        const timespec moment{.tv_sec = 0, .tv_nsec = 50'000};
        nanosleep(&moment, nullptr);
      }
    }
  }
  void unlock() {
    // ORDER unlock-worker: release, pairs with lock-worker.
    word_.store(false, std::memory_order_release);
  }

 private:
  std::atomic<bool> word_{false};
};

// A number that one thread counts up and any thread may read.
class Counter {
 public:
  void increment() {
    // ORDER count: relaxed, statistic.
    value_.store(value_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  std::uint64_t read() const {
    return value_.load(std::memory_order_relaxed);  // ORDER read-count: relaxed, statistic.
  }
  void reset() { value_.store(0); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// Blocks of 64, 128, 192 and 256 bytes; what is larger comes from the heap.
inline constexpr std::size_t kBlockBytes = 64;
inline constexpr std::size_t kClasses = 4;
inline constexpr std::size_t kSlabBytes = std::size_t{32} << 10;
inline constexpr std::size_t kFew = 16;  // tasks that a thief exposes all at once
constexpr std::size_t size_class(std::size_t bytes) { return (bytes - 1) / kBlockBytes; }

// A place of a deque: null, or a task. An odd one tells the task's siblings in its low bits, and
// the task is aligned to kBlockBytes; an even one has no siblings.
using Entry = std::uintptr_t;
inline Entry siblings_of(Entry entry) { return entry % 2 != 0 ? entry % kBlockBytes : 0; }
inline Task* task_of(Entry entry) { return reinterpret_cast<Task*>(entry - siblings_of(entry)); }
// The same for all that one call of a function makes: from where its stack lies. By chance also for
// calls of others, which costs a worse choice.
TMK_INLINE Entry siblings_here() { return (stack_pointer() / 8 % kBlockBytes) | 1; }

struct alignas(128) Worker {
  // ---- the owner ----
  std::array<Task*, kClasses> free{};
  std::atomic<Entry>* entries = nullptr;
  std::size_t mask = 0;
  std::size_t room_end = 0;  // a bottom from which the entries must be looked after
  std::atomic<std::size_t> bottom{0};
  const std::atomic<std::uint32_t>* activity = nullptr;  // of the pool
  std::uint32_t quiet = 0;                               // activity from which a push wakes nobody
  std::uintptr_t stack_end = 0;  // below it nothing is run in place any more
  bool pooled = false;           // its thread is one of the pool's own
  bool counted = false;          // its thread is one of those that activity counts when they run
  // By who claimed: the owner (`popped` of them between tasks), a waiter from its own or another's
  // deque, a thief; and waits that slept.
  Counter taken, popped, revoked, stolen, blocked;
  // ---- the lock holder ----
  alignas(128) std::atomic<std::size_t> split{0};
  std::atomic<std::size_t> head{0};
  SpinLock lock;
  std::size_t open = 0;       // others may claim below it; above, up to split, a fence is under way
  std::uint64_t lowered = 0;  // how often split came down
  bool exposing = false;      // a thief has a fence under way; another one need not
  std::size_t far = 0;        // end of the siblings from head on, as far as open; 0: unknown
  // ---- anyone ----
  alignas(128) std::array<std::atomic<Task*>, kClasses> returned{};  // blocks that others freed
  Pool* pool = nullptr;
  std::atomic<pid_t> thread{0};
  std::atomic<bool> active{false};  // counted in activity now
  std::int64_t seen_cpu_ns = 0;     // the watchdog's
  // The watchdog's, too: the oldest pending task when it last looked, and for how many looks.
  Entry seen_oldest = 0;
  std::uint32_t oldest_age = 0;
  std::uint64_t seen_scheduled = 0;
  bool seen_asleep = false;
  std::atomic<bool> starving{false};  // the oldest task is to be run before all others
  Worker* next = nullptr;             // in the pool's list, or among the spare ones
  std::atomic<bool> bound{false};

  // Whoever has it alone, before it goes to another pool.
  void reset_counters() {
    for (Counter* each : {&taken, &popped, &revoked, &stolen, &blocked}) each->reset();
  }

  // The only thread of a forked child, under the lock. The pending tasks move to a worker that no
  // pool knows, so that no thread looks for them there, but a waiter finds them. Without memory for
  // it they stay.
  void leave_pending_behind() {
    const std::size_t b = held(bottom), h = first_pending(b);
    auto* const apart = h < b ? new (std::nothrow) Worker : nullptr;
    if (apart == nullptr) return;
    apart->bound.store(true);
    apart->entries = std::exchange(entries, nullptr);
    apart->mask = std::exchange(mask, 0);
    for (std::size_t i = h; i < b; ++i) {
      if (Task* const task = task_of(held(apart->entries[i & apart->mask]))) task->worker = apart;
    }
    hold(apart->bottom, b);
    hold(apart->head, h);
    hold(apart->split, b);
    apart->open = b;
    const std::size_t none = has_membarrier ? 0 : SIZE_MAX;
    hold(bottom, 0);
    hold(head, 0);
    hold(split, none);
    open = none;
    far = room_end = 0;
  }

  // Owner. Makes a task pending, one of the given siblings. bad_alloc leaves everything as it was.
  void push(Task& task, Entry siblings) {
    // ORDER own-bottom: relaxed, owner-only.
    std::size_t b = bottom.load(std::memory_order_relaxed);
    if (b >= room_end) [[unlikely]]
      b = make_room();
    TMK_ASSERT(held(entries[b & mask]) == 0);
    task.worker = this;
    // ORDER set-index: relaxed, ordered by publish-entry.
    task.index.store(b, std::memory_order_relaxed);
    // ORDER publish-entry: release, pairs with read-entry-open, which sees the contents.
    entries[b & mask].store(reinterpret_cast<Entry>(&task) | siblings, std::memory_order_release);
    // ORDER publish-bottom: release, pairs with read-bottom.
    bottom.store(b + 1, std::memory_order_release);
    light_fence();
    // ORDER check-split: relaxed, ordered by light-fence.
    if (b < split.load(std::memory_order_relaxed)) [[unlikely]]
      lower_split(b);
  }

  // Owner. Claims a task of its own, wherever it lies; false if someone else has claimed it.
  bool take(Task& task) {
    // ORDER own-index: relaxed, rechecked by lock-worker. The owner uses a place again only after
    // it has seen it null by drop, and then it sees here that the task is claimed.
    const std::size_t i = task.index.load(std::memory_order_relaxed);
    if (i == Task::claimed) [[unlikely]]
      return false;
    // ORDER erase-entry: relaxed, ordered by light-fence.
    entries[i & mask].store(0, std::memory_order_relaxed);
    light_fence();
    // ORDER check-split-take: relaxed, ordered by light-fence.
    const std::size_t s = split.load(std::memory_order_relaxed);
    if (i < s) [[unlikely]]
      return take_slowly(task);
    // ORDER own-bottom-take: relaxed, owner-only.
    if (i + 1 == bottom.load(std::memory_order_relaxed)) drop_bottom(i, s);
    taken.increment();
    return true;
  }

  // Owner. Claims its newest task; null if it has none. For pool threads between tasks. Under the
  // lock: before a look at the index of a task that others may claim, they may have ended it.
  Task* pop() {
    if (!looks_pending()) return nullptr;
    const std::lock_guard guard(lock);
    drop_bottom(held(bottom), held(head));
    const std::size_t b = held(bottom);
    Task* const task = task_of(b > held(head) ? held(entries[(b - 1) & mask]) : 0);
    if (task != nullptr) {
      claim(*task, b - 1);  // should it wait for itself, it must not run again
      drop_bottom(b - 1, held(head));
      taken.increment();
    }
    lower(held(bottom));
    return task;
  }

  // Owner. All of it may be stolen, without a fence for the thief: one is about to be woken.
  [[gnu::noinline, gnu::cold]] void share() {
    const std::lock_guard guard(lock);
    if (held(split) < held(bottom)) hold(split, held(bottom));
    open = held(split);
    far = 0;
  }

  // Any thread but the owner's. Claims the task that its maker will want last; null if there is
  // none.
  Task* steal() {
    if (!looks_pending()) return nullptr;
    if (!lock.try_lock()) return nullptr;
    std::unique_lock guard(lock, std::adopt_lock);
    if (const std::size_t end = border(); end > open && !exposing) {
      exposing = true;
      expose(guard, end);
      exposing = false;
    }
    return claim_last_wanted();
  }
  // Claims the oldest task, siblings or not; null if there is none. `owned`: by the owner, from
  // which nothing is private.
  Task* claim_oldest(bool owned) {
    std::unique_lock guard(lock);
    for (;;) {
      // ORDER oldest-bottom: acquire, pairs with publish-bottom.
      const std::size_t b = bottom.load(std::memory_order_acquire);
      const std::size_t i = first_pending(b);
      if (i >= b) return nullptr;
      if (owned || i < open) {
        Task* const task = task_of(read(i));
        if (task == nullptr) continue;  // the owner has erased it meanwhile
        claim(*task, i);
        pass_erased(std::min(owned ? held(split) : open, b));
        return task;
      }
      expose(guard, i + 1);
    }
  }

  // A waiter that is not the owner wants this very task: true if it is now claimed for the caller.
  bool revoke(Task& task) {
    std::unique_lock guard(lock);
    for (;;) {
      const std::size_t i = held(task.index);
      if (i == Task::claimed) return false;
      // The waiter got its future after the push, so it reads the task here, or what the owner has
      // written since. A stale entry is found out after the fence.
      if (task_of(held(entries[i & mask])) != &task) return false;
      if (i < open) {
        claim(task, i);
        return true;
      }
      expose(guard, i + 1);  // and look again, whether it is open now or the owner was faster
    }
  }

  // A hint: no task that was pushed before is overlooked, what was erased may still be counted.
  bool looks_pending() const {
    // ORDER read-bottom: acquire, pairs with publish-bottom. Too low, and the next look finds it.
    // ORDER head-hint: relaxed, rechecked by lock-worker.
    return bottom.load(std::memory_order_acquire) > head.load(std::memory_order_relaxed);
  }
  // The oldest pending task, to be compared only; 0 without one. Any thread; exact when nothing
  // moves.
  Entry oldest() {
    if (!looks_pending()) return 0;
    const std::lock_guard guard(lock);
    const std::size_t b = held(bottom);
    const std::size_t i = first_pending(b);
    return i < b ? held(entries[i & mask]) : 0;
  }
  // At least as many as tasks are pending.
  std::size_t places() const {
    // ORDER places: relaxed, statistic.
    const std::size_t b = bottom.load(std::memory_order_relaxed);
    const std::size_t h = head.load(std::memory_order_relaxed);
    return b > h ? b - h : 0;
  }
  // Is any task pending? Any thread; exact when nothing moves. From the newest on: where tasks are
  // joined in the order in which they were made, the oldest places are all erased.
  bool any_pending() {
    if (!looks_pending()) return false;
    const std::lock_guard guard(lock);
    std::size_t i = held(bottom);
    while (i > held(head) && held(entries[(i - 1) & mask]) == 0) --i;
    return i > held(head);
  }
  // Tasks that are pending. Any thread; exact when nothing moves.
  std::size_t count_pending() {
    if (!looks_pending()) return 0;
    const std::lock_guard guard(lock);
    // ORDER pending-bottom: acquire, pairs with publish-bottom.
    const std::size_t b = bottom.load(std::memory_order_acquire);
    std::size_t count = 0;
    for (std::size_t i = held(head); i < b; ++i) {
      if (held(entries[i & mask]) != 0) ++count;
    }
    return count;
  }

  // Memory for a task of the given class, owned by this worker. bad_alloc.
  Task* allocate(std::size_t block_class) {
    Task* const block = free[block_class];
    if (block == nullptr) [[unlikely]]
      return refill(block_class);
    free[block_class] = next_free(*block);
    return block;
  }
  void keep(Task& block, std::size_t block_class) {
    link(block, std::exchange(free[block_class], &block));
  }
  void give_back(Task& block, std::size_t block_class) {
    auto& list = returned[block_class];
    Task* first =
        list.load(std::memory_order_relaxed);  // ORDER first: relaxed, rechecked by return-block.
    do {
      link(block, first);
      // ORDER return-block: release, pairs with take-returned; a failure is relaxed, rechecked by
      // return-block.
    } while (!list.compare_exchange_weak(first, &block, std::memory_order_release,
                                         std::memory_order_relaxed));
  }

 private:
  // ORDER free-link: relaxed, ordered by return-block.
  static Task* next_free(const Task& block) {
    return reinterpret_cast<Task*>(block.index.load(std::memory_order_relaxed));
  }
  static void link(Task& block, Task* next) {
    // ORDER free-link-set: relaxed, ordered by return-block.
    block.index.store(reinterpret_cast<std::uintptr_t>(next), std::memory_order_relaxed);
  }

  // For words that are written under the lock, for the owner's own, and for a hint at the owner's.
  template <class T>
  static T held(const std::atomic<T>& word) {
    // ORDER held: relaxed, ordered by lock-worker; owner-only where the owner reads its own bottom
    // and entries. A holder that reads these gets a hint, rechecked by read-entry-open and
    // heavy-fence.
    return word.load(std::memory_order_relaxed);
  }
  template <class T>
  static void hold(std::atomic<T>& word, std::type_identity_t<T> value) {
    word.store(value, std::memory_order_relaxed);  // ORDER hold: relaxed, ordered by lock-worker.
  }

  // Owner. Bottom falls to i and on through what is erased there, not below `least`.
  void drop_bottom(std::size_t i, std::size_t least) {
    // ORDER drop: acquire, pairs with erase-claimed. The owner sees the mark of the thread that
    // claimed the task of the place. The bottom is relaxed, owner-only; for others it is a hint.
    while (i > least && entries[(i - 1) & mask].load(std::memory_order_acquire) == 0) --i;
    bottom.store(i, std::memory_order_relaxed);
  }

  // The owner holds the lock: nothing from `end` on is shared.
  void lower(std::size_t end) {
    if (has_membarrier && held(split) > end) {
      hold(split, end);
      open = std::min(open, end);
      ++lowered;
    }
    far = std::min(far, end);
    if (held(head) > end) hold(head, end);
    room_end = std::min(room_end, held(head) + mask + 1);
    check();
  }
  [[gnu::noinline, gnu::cold]] void lower_split(std::size_t end) {
    const std::lock_guard guard(lock);
    lower(end);
    full_fence();  // head has come down after push's own, and look-for-sleepers follows
  }

  [[gnu::noinline, gnu::cold]] bool take_slowly(Task& task) {
    const std::lock_guard guard(lock);
    const std::size_t i = held(task.index);
    if (i == Task::claimed) return false;
    if (i + 1 == held(bottom)) {
      drop_bottom(i, held(head));
      lower(held(bottom));
    } else {
      pass_erased(std::min(held(split), held(bottom)));  // nothing may be left: see looks_pending
    }
    taken.increment();
    return true;
  }

  // ---- the lock holder ----
  void check() const {
    TMK_ASSERT(held(head) <= held(split));
    TMK_ASSERT(open <= held(split));
  }
  void claim(Task& task, std::size_t i) {
    check();
    TMK_ASSERT(held(task.index) == i);
    // ORDER mark-claimed: relaxed, ordered by erase-claimed and lock-worker.
    task.index.store(Task::claimed, std::memory_order_relaxed);
    // ORDER erase-claimed: release, pairs with drop.
    entries[i & mask].store(0, std::memory_order_release);
  }
  // Lets others claim below `end`. Not under the lock all the time, since the owner may want it and
  // the fence waits for processors. False: the owner has taken the border back meanwhile.
  bool expose(std::unique_lock<SpinLock>& guard, std::size_t end) {
    // ORDER move-split: relaxed, ordered by heavy-fence.
    if (end > held(split)) split.store(end, std::memory_order_relaxed);
    const std::uint64_t seen = lowered;
    guard.unlock();
    heavy_fence();
    guard.lock();
    if (lowered != seen) return false;
    open = std::max(open, end);
    far = 0;
    check();
    return true;
  }
  // ORDER read-entry-open: acquire, pairs with publish-entry.
  Entry read(std::size_t i) const { return entries[i & mask].load(std::memory_order_acquire); }
  // Head passes what is erased, up to `end`, which is not above split.
  std::size_t pass_erased(std::size_t end) {
    std::size_t h = held(head);
    while (h < end && read(h) == 0) ++h;
    hold(head, h);
    return h;
  }
  std::size_t end_of_siblings(std::size_t first, std::size_t end) const {
    const Entry siblings = siblings_of(read(first));
    if (siblings == 0) return first + 1;
    for (std::size_t i = first + 1; i < end; ++i) {
      if (const Entry entry = read(i); entry != 0 && siblings_of(entry) != siblings) return i;
    }
    return end;
  }
  // The first place from head on that is not erased; b if there is none.
  std::size_t first_pending(std::size_t b) const {
    std::size_t i = std::min(held(head), b);
    while (i < b && held(entries[i & mask]) == 0) ++i;
    return i;
  }
  // How far it should be open for a thief to choose well: all, if it is little, or half of it, for
  // one fence. As it is, if there is something, and of siblings a fair part.
  std::size_t border() const {
    // ORDER border-bottom: relaxed, ordered by read-bottom.
    const std::size_t b = bottom.load(std::memory_order_relaxed);
    const std::size_t h = first_pending(b);
    if (h >= b) return b;  // so that head may pass it all: else it would look pending for ever
    const std::size_t wanted = b - h <= kFew ? b - h : (b - h + 1) / 2;
    const bool fair = siblings_of(held(entries[h & mask])) == 0 || 2 * (open - h) > wanted;
    return h < open && fair ? open : h + wanted;
  }
  // The oldest task that is open or, if it has siblings, the newest of them: futures are mostly
  // fetched in the order in which they were made. `far` is kept, so that each is looked at once.
  Task* claim_last_wanted() {
    // ORDER open-bottom: acquire, pairs with publish-bottom.
    const std::size_t end = std::min(open, bottom.load(std::memory_order_acquire));
    far = std::min(far, end);
    for (std::size_t h = pass_erased(end); h < end; h = pass_erased(end)) {
      if (far <= h) far = end_of_siblings(h, end);
      while (far > h) {
        const Entry entry = read(--far);
        if (entry == 0) continue;  // the owner may erase even what lies at h, meanwhile
        claim(*task_of(entry), far);
        pass_erased(end);
        return task_of(entry);
      }
    }
    return nullptr;
  }

  // Owner. The entries are full up to room_end: the tasks move to a larger array if they fill half
  // of this one, else together, because a window of tasks that slides past an old one leaves erased
  // places behind. Returns the bottom, which may have come down.
  [[gnu::noinline, gnu::cold]] std::size_t make_room() {
    const std::size_t capacity = entries == nullptr ? 0 : mask + 1;
    const std::lock_guard guard(lock);
    std::size_t b = held(bottom);
    const std::size_t h = first_pending(b);
    std::size_t pending = 0;
    for (std::size_t i = h; i < b; ++i) pending += held(entries[i & mask]) != 0 ? 1u : 0u;
    if (2 * pending >= capacity) {
      const std::size_t larger = std::max<std::size_t>(256, 2 * capacity);
      auto fresh = std::make_unique<std::atomic<Entry>[]>(larger);
      for (std::size_t i = h; i < b; ++i) hold(fresh[i & (larger - 1)], held(entries[i & mask]));
      delete[] std::exchange(entries, fresh.release());
      mask = larger - 1;
    } else if (2 * (b - h) > capacity) {
      b = move_together(h, b);
    }
    hold(head, h);
    // What was passed as erased may be pushed again: it must not lie under a split nobody moved.
    if (held(split) < h) hold(split, h);
    room_end = h + mask + 1;
    check();
    count_thread(*this);
    return b;
  }
  // Owner, under the lock. The tasks from h to b lie side by side from h on, in the same order; the
  // new bottom. Those that others may claim are still open, and no more than those.
  std::size_t move_together(std::size_t h, std::size_t b) {
    std::size_t end = h, opened = h;
    for (std::size_t i = h; i < b; ++i) {
      const Entry entry = held(entries[i & mask]);
      if (entry == 0) continue;
      hold(entries[i & mask], 0);
      hold(entries[end & mask], entry);
      hold(task_of(entry)->index, end++);
      if (i < open) opened = end;
    }
    hold(bottom, end);
    if (has_membarrier) {
      hold(split, opened);
      open = opened;
      ++lowered;  // a thief whose fence is under way has seen other places
    }
    far = 0;
    return end;
  }

  [[gnu::noinline, gnu::cold]] Task* refill(std::size_t block_class) {
    // ORDER take-returned: acquire, pairs with return-block.
    Task* first = returned[block_class].exchange(nullptr, std::memory_order_acquire);
    if (first == nullptr) {
      // The first block of a slab names its owner.
      char* const slab =
          static_cast<char*>(::operator new(kSlabBytes, std::align_val_t{kSlabBytes}));
      ::new (slab) Worker*(this);
      const std::size_t size = kBlockBytes * (block_class + 1);
      for (std::size_t at = kBlockBytes; at + size <= kSlabBytes; at += size) {
        auto* const block = ::new (slab + at) Task;
        link(*block, std::exchange(first, block));
      }
    }
    free[block_class] = next_free(*first);
    return first;
  }
};

// Whose slab the block lies in.
inline Worker& home_of(const Task& block) {
  const auto address = reinterpret_cast<std::uintptr_t>(&block) & ~(kSlabBytes - 1);
  return **reinterpret_cast<Worker**>(address);
}

}  // namespace tmk::detail
