// A deque of pending tasks. Its owner pushes and takes at the bottom; thieves and waiters claim the
// tasks that the owner has shared. It is long because the steps of both sides are one protocol.
// scheduler.md has the protocol and the argument; its step names are the tags of the memory orders
// here.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>

#include "assertion.hpp"
#include "counter.hpp"
#include "entry.hpp"
#include "fence.hpp"
#include "run.hpp"
#include "spin_lock.hpp"
#include "task.hpp"

namespace tmk::detail {

void count_thread(Deque& deque);  // at its first push, the owner counts among the threads that run
void note_signals(Deque& deque);  // a thread that looks around runs the new task
bool wants_threads(const Deque& deque);  // fewer threads run than should, or the watchdog is away
void wake_thread(Deque& deque);          // one of the owner's pool; the watchdog too

inline constexpr std::size_t kFew = 16;           // tasks that a thief exposes all at once
inline constexpr std::size_t kAlways = SIZE_MAX;  // a split that is above each bottom

// The result of a thief's look. `missed`: there may be a task, but another thread was faster or has
// the lock, or the thief left a task because it is the first of siblings that may follow.
struct Loot {
  Task* task = nullptr;
  bool missed = false;
  bool left = false;
};

// The result of a waiter's look at the tasks that have to end before the awaited one: no task; no
// task yet, because the waiter has asked the owner to open one; or a task.
struct Help {
  Task* task = nullptr;
  bool asked = false;
};

// The owner's finding when it takes a task: the owner has claimed the task; the task lay in a place
// that was shared; or another thread has claimed the task or, in take_newest, another task is the
// newest.
enum class Claim { taken, shared, other };

struct alignas(128) Deque {
  // ---- written by the lock holder ----
  std::atomic<std::size_t> split{0};
  std::atomic<std::size_t> head{0};
  SpinLock lock;
  std::size_t open = 0;   // others may claim below it; above, up to split, they have to wait
  std::size_t asked = 0;  // the owner opens the places below it at its next visit; 0: none
  std::uint64_t split_falls = 0;       // how often split came down
  bool exposing = false;               // a thief has a fence under way; another need not
  std::size_t siblings_end = 0;        // of the siblings at head, as far as open; 0: unknown
  std::atomic<Run*> running{nullptr};  // the innermost of the owner's thread; the owner writes it
  // ---- written by the owner; last, so that a worker's words for its owner are beside them ----
  alignas(128) std::atomic<Entry>* entries = nullptr;
  std::size_t mask = 0;
  std::size_t room_end = 0;  // a bottom from which a push calls make_room
  std::atomic<std::size_t> bottom{0};
  Counter taken;  // by the owner, without the branches

  // Each function names first the roles of scheduler.md that may call it.

  // Owner. Makes a task pending, with the mark of its siblings or 0, and wakes a thread if one may
  // run. If it throws bad_alloc, nothing has changed.
  void push(Task& task, Entry siblings = 0) {
    const std::size_t b = place_with_room();
    task.deque = this;
    // ORDER set-index: relaxed, ordered by publish-entry.
    task.index.store(b, std::memory_order_relaxed);
    publish(task, b, siblings);
  }
  // The same in two steps, for a caller that may have to bind a worker first. A deque that no
  // thread ever had has no room.
  std::size_t next_place() const {
    // ORDER own-bottom: relaxed, owner-only.
    return bottom.load(std::memory_order_relaxed);
  }
  std::size_t place_with_room() {
    const std::size_t b = next_place();
    if (b >= room_end) [[unlikely]]
      return make_room();
    return b;
  }
  // The rest of a push. The task has its place in `index`.
  void publish(Task& task, std::size_t b, Entry siblings) {
    if (!try_publish(task, b, siblings)) [[unlikely]]
      push_slowly(b);
  }
  // The same; false: push_slowly(b) has to follow.
  bool try_publish(Task& task, std::size_t b, Entry siblings) {
    // ORDER publish-entry: release, pairs with read-entry-open, which sees the contents.
    entries[b & mask].store(reinterpret_cast<Entry>(&task) + siblings, std::memory_order_release);
    // ORDER publish-bottom: release, pairs with read-bottom.
    bottom.store(b + 1, std::memory_order_release);
    light_fence();
    // ORDER check-split: relaxed, ordered by light-fence.
    return b >= split.load(std::memory_order_relaxed);
  }
  // Owner. It has pushed at a place that is shared: a thief has asked for the place or has read an
  // earlier bottom, or a thread has ceased to run. A thread that the owner wakes now needs no
  // fence.
  [[gnu::noinline, gnu::cold]] void push_slowly(std::size_t i) {
    if (has_membarrier) note_signals(*this);
    {
      const std::lock_guard guard(lock);
      unshare(i);
      if (wants_threads(*this)) asked = std::max(asked, read(bottom));
      answer();
      full_fence();  // head has come down after the fence of push, and a look at activity follows
    }
    if (wants_threads(*this)) wake_thread(*this);
  }

  // Owner. Claims a task of its own, wherever it lies; false if another thread has claimed it.
  bool take(Task& task) {
    const Claim found = try_take(task);
    return found == Claim::taken || (found == Claim::shared && take_slowly(task));
  }
  // The same; after `shared`, take_slowly has to follow.
  Claim try_take(Task& task) {
    // ORDER own-index: relaxed, rechecked by lock-worker. The owner uses a place again only after
    // it has seen it null by skip-erased, and then it sees here that the task is claimed.
    const std::size_t i = task.index.load(std::memory_order_relaxed);
    if (i == Task::claimed) [[unlikely]]
      return Claim::other;
    // ORDER erase-entry: relaxed, ordered by light-fence.
    entries[i & mask].store(0, std::memory_order_relaxed);
    light_fence();
    // ORDER check-split-take: relaxed, ordered by light-fence.
    const std::size_t s = split.load(std::memory_order_relaxed);
    if (i < s) [[unlikely]]
      return Claim::shared;
    // ORDER own-bottom-take: relaxed, owner-only.
    if (i + 1 == bottom.load(std::memory_order_relaxed)) lower_bottom(i, s);
    taken.increment();
    return Claim::taken;
  }
  // Owner. The task that it takes lies in a place that was shared.
  [[gnu::noinline, gnu::cold]] bool take_slowly(Task& task) {
    const std::lock_guard guard(lock);
    const std::size_t i = read(task.index);
    const bool own = i != Task::claimed;
    if (own && i + 1 == read(bottom)) {
      lower_bottom(i, read(head));
      unshare(read(bottom));
    } else if (own) {
      // Head must not stay at an erased place: may_have_pending would be true for ever.
      pass_erased(std::min(read(split), read(bottom)));
    }
    answer();
    if (own) taken.increment();
    return own;
  }

  // Owner. Claims its newest task if that is `task`: bottom comes down, and nothing is erased. So
  // only the owner may wait for such a task. After `shared`, the owner has to call
  // take_newest_slowly; after `other`, it has to call take().
  Claim take_newest(Task& task) {
    // ORDER own-bottom-newest: relaxed, owner-only.
    const std::size_t i = bottom.load(std::memory_order_relaxed) - 1;
    // ORDER own-newest: relaxed, rechecked by lock-worker, as own-index is.
    if (i != task.index.load(std::memory_order_relaxed)) [[unlikely]]
      return Claim::other;
    // ORDER lower-newest: relaxed, ordered by light-fence.
    bottom.store(i, std::memory_order_relaxed);
    light_fence();
    // ORDER check-split-newest: relaxed, ordered by light-fence.
    if (i < split.load(std::memory_order_relaxed)) [[unlikely]]
      return Claim::shared;
    return Claim::taken;
  }
  // Owner. It has lowered bottom below its newest task, which lies in a place that was shared.
  // Returns false if another thread has claimed the task.
  [[gnu::noinline, gnu::cold]] bool take_newest_slowly(Task& task) {
    const std::lock_guard guard(lock);
    const bool own = read(task.index) != Task::claimed;
    lower_bottom(read(bottom), read(head));
    unshare(read(bottom));
    answer();
    return own;
  }

  // Owner that is a pool thread between tasks. Claims its newest task; returns null if it has none.
  // The owner reads the task under the lock only, because it has no future that keeps the task
  // alive: another claimer may have ended the task.
  Task* pop() {
    if (!may_have_pending()) return nullptr;
    const std::lock_guard guard(lock);
    lower_bottom(read(bottom), read(head));
    const std::size_t b = read(bottom);
    Task* const task = task_of(b > read(head) ? read(entries[(b - 1) & mask]) : 0);
    if (task != nullptr) {
      claim(*task, b - 1);  // if the task waits for itself, it must not run again
      lower_bottom(b - 1, read(head));
      taken.increment();
    }
    unshare(read(bottom));
    answer();
    return task;
  }

  // Owner. All tasks may be stolen, and the thief needs no fence.
  [[gnu::noinline, gnu::cold]] void share() {
    if (!has_membarrier) return;  // all tasks are shared already
    const std::lock_guard guard(lock);
    asked = std::max(asked, read(bottom));
    answer();
  }

  // Thief. Claims the task that its maker will want last. With `leaves_first` the thief leaves a
  // single task that may get siblings, because its maker will want that task first.
  Loot steal(bool leaves_first = false) {
    if (!may_have_pending()) return {};
    if (!lock.try_lock()) return {.missed = true};
    std::unique_lock guard(lock, std::adopt_lock);
    if (const std::size_t end = open_goal(); end > open && !exposing) {
      exposing = true;
      expose(guard, end);
      exposing = false;
    }
    if (leaves_first && is_first()) return {.missed = true, .left = true};
    Task* const task = claim_last_wanted();
    // The thief finds the next task open when it comes back, however soon the owner pushes that
    // task.
    if (task != nullptr && !may_have_pending()) ring(read(bottom) + 1);
    return {task, task == nullptr};
  }
  // Thief that has found nothing. Asks the owner to open the next task that it pushes. Returns
  // false if a thief has asked already, or if there is a task.
  bool ask() {
    // ORDER ask-bottom: relaxed, rechecked by check-split: when the hint is wrong, the owner opens
    // nothing, or takes the slow path in vain. The same holds for split.
    if (split.load(std::memory_order_relaxed) > bottom.load(std::memory_order_relaxed))
      return false;
    if (may_have_pending() || !lock.try_lock()) return false;
    const std::lock_guard guard(lock, std::adopt_lock);
    ring(read(bottom) + 1);
    return true;
  }
  // Anyone. A thread ceases to run, or the watchdog to tick: the owner's next push takes the slow
  // path, which looks at activity.
  void alert() {
    if (!has_membarrier) return;  // each push does
    const std::lock_guard guard(lock);
    // ORDER alert: relaxed, ordered by heavy-fence.
    split.store(kAlways, std::memory_order_relaxed);
  }
  // Owner or thief. Claims the oldest task, siblings or not; null if there is none. `owned`: the
  // caller is the owner, from which no task is private.
  Task* claim_oldest(bool owned) {
    std::unique_lock guard(lock);
    for (;;) {
      // ORDER oldest-bottom: acquire, pairs with publish-bottom.
      const std::size_t b = bottom.load(std::memory_order_acquire);
      const std::size_t i = first_pending(b);
      if (i >= b) return nullptr;
      if (owned || i < open) {
        Task* const task = task_of(read_entry(i));
        if (task == nullptr) continue;  // the owner has erased it meanwhile
        claim(*task, i);
        pass_erased(std::min(owned ? read(split) : open, b));
        return task;
      }
      expose(guard, i + 1);
    }
  }

  // Owner. Its thread begins to run a task, or goes on with the outer task.
  void note_run(Run* run) {
    const std::lock_guard guard(lock);
    write(running, run);
  }
  // Waiter that is not the owner, for a task that the owner's thread may run. Claims the oldest
  // task that was made in the awaited task and has to end before it.
  Help claim_within(const Task& awaited) {
    // ORDER run-hint: relaxed, rechecked by lock-worker.
    if (running.load(std::memory_order_relaxed) == nullptr || !may_have_pending()) return {};
    if (!lock.try_lock()) return {};
    const std::lock_guard guard(lock, std::adopt_lock);
    const Run* run = read(running);
    while (run != nullptr && &run->task != &awaited) run = run->outer;
    if (run == nullptr) return {};
    // ORDER within-bottom: acquire, pairs with publish-bottom.
    const std::size_t b = bottom.load(std::memory_order_acquire);
    for (std::size_t i = read(head); i < b; ++i) {
      const Entry entry = read_entry(i);
      if (i >= open && is_structured(entry)) {  // the owner may take it meanwhile
        ring(i + 1);
        return {nullptr, true};
      }
      if (!run->made(entry)) continue;
      claim(*task_of(entry), i);
      pass_erased(std::min(open, b));
      return {task_of(entry)};
    }
    return {};
  }

  // Waiter that is not the owner. Claims this very task; false if another thread has claimed it.
  bool revoke(Task& task) {
    std::unique_lock guard(lock);
    for (;;) {
      const std::size_t i = read(task.index);
      if (i == Task::claimed) return false;
      // The waiter got its future after the push, so it reads the task here, or a later value that
      // the owner has written. The waiter may read the task although the owner has erased it: the
      // second look, after the fence, finds that out.
      if (task_of(read(entries[i & mask])) != &task) return false;
      if (i < open) {
        claim(task, i);
        return true;
      }
      expose(guard, i + 1);  // then the place is open, or the owner was faster
    }
  }

  // Anyone. A hint: false only if no task is pending whose push the thread sees; true also when all
  // places are erased.
  bool may_have_pending() const {
    // ORDER read-bottom: acquire, pairs with publish-bottom. If the bottom is too low, the next
    // look finds the task.
    // ORDER head-hint: relaxed, rechecked by lock-worker.
    return bottom.load(std::memory_order_acquire) > head.load(std::memory_order_relaxed);
  }
  // Any thread may call the functions from here on. They are exact while no other thread changes
  // the deque.

  // The entry of the oldest pending task, for comparisons only; 0 if no task is pending.
  Entry oldest_pending() {
    if (!may_have_pending()) return 0;
    const std::lock_guard guard(lock);
    const std::size_t b = read(bottom);
    const std::size_t i = first_pending(b);
    return i < b ? read(entries[i & mask]) : 0;
  }
  // The places from the oldest to the newest task: at least as many as tasks are pending.
  std::size_t count_places() const {
    // ORDER places: relaxed, statistic.
    const std::size_t b = bottom.load(std::memory_order_relaxed);
    const std::size_t h = head.load(std::memory_order_relaxed);
    return b > h ? b - h : 0;
  }
  // Whether a task is pending. It looks at the newest place first, because the oldest places are
  // all erased when tasks are joined in the order in which they were made.
  bool has_pending() {
    if (!may_have_pending()) return false;
    const std::lock_guard guard(lock);
    std::size_t i = read(bottom);
    while (i > read(head) && read(entries[(i - 1) & mask]) == 0) --i;
    return i > read(head);
  }
  std::size_t count_pending() {
    if (!may_have_pending()) return 0;
    const std::lock_guard guard(lock);
    // ORDER pending-bottom: acquire, pairs with publish-bottom.
    const std::size_t b = bottom.load(std::memory_order_acquire);
    std::size_t count = 0;
    for (std::size_t i = read(head); i < b; ++i) {
      if (read(entries[i & mask]) != 0) ++count;
    }
    return count;
  }

  // The only thread of a forked child, under the lock. The pending tasks move to a deque of no
  // pool, so that no thief finds them, but a waiter does. If there is no memory for that deque,
  // they stay.
  void leave_pending_behind() {
    const std::size_t b = read(bottom), h = first_pending(b);
    auto* const apart = h < b ? new (std::nothrow) Deque : nullptr;
    if (apart == nullptr) return;
    apart->entries = std::exchange(entries, nullptr);
    apart->mask = std::exchange(mask, 0);
    // The indices are no places of this deque, so take_newest() does not mistake the tasks for its
    // own.
    constexpr std::size_t kApart = ~(SIZE_MAX >> 1) >> 1;
    for (std::size_t i = h; i < b; ++i) {
      Task* const task = task_of(read(apart->entries[i & apart->mask]));
      if (task == nullptr) continue;
      task->deque = apart;
      write(task->index, kApart + i);
    }
    write(apart->bottom, kApart + b);
    write(apart->head, kApart + h);
    write(apart->split, kApart + b);
    apart->open = kApart + b;
    const std::size_t none = has_membarrier ? 0 : kAlways;
    write(bottom, 0);
    write(head, 0);
    write(split, none);
    open = none;
    siblings_end = room_end = asked = 0;
  }

 private:
  // Access to words that are written under the lock. The owner reads and writes its own words with
  // the same functions. A lock holder that reads the owner's words gets a hint.
  template <class T>
  static T read(const std::atomic<T>& word) {
    // ORDER read-locked: relaxed, ordered by lock-worker; owner-only where the owner reads its own
    // bottom and entries. A holder that reads the owner's words gets a hint, rechecked by
    // read-entry-open and heavy-fence.
    return word.load(std::memory_order_relaxed);
  }
  template <class T>
  static void write(std::atomic<T>& word, std::type_identity_t<T> value) {
    // ORDER write-locked: relaxed, ordered by lock-worker.
    word.store(value, std::memory_order_relaxed);
  }

  // Owner. Bottom comes down to i and past the erased places below it, but not below `least`.
  void lower_bottom(std::size_t i, std::size_t least) {
    // ORDER skip-erased: acquire, pairs with erase-claimed: the owner sees the mark of the task
    // that was claimed there. The bottom is relaxed, owner-only; for other threads it is a hint.
    while (i > least && entries[(i - 1) & mask].load(std::memory_order_acquire) == 0) --i;
    bottom.store(i, std::memory_order_relaxed);
  }

  // Owner, under the lock. No place from `end` on is shared any more.
  void unshare(std::size_t end) {
    if (has_membarrier && read(split) > end) {
      write(split, end);
      open = std::min(open, end);
      ++split_falls;
    }
    siblings_end = std::min(siblings_end, end);
    if (read(head) > end) write(head, end);
    room_end = std::min(room_end, read(head) + mask + 1);
    check();
  }
  // Owner, under the lock. Opens the places that thieves have asked for. All places above are
  // private, except the next place if thieves have asked for that. While threads are wanted, no
  // place is private. No fence is needed, because the owner knows which of its tasks it has taken.
  void answer() {
    if (!has_membarrier) return;  // everything is open
    const std::size_t b = read(bottom);
    // Head may be above open: the owner has raised it past places that it has erased itself.
    const std::size_t end = std::max(std::min(std::max(open, asked), b), read(head));
    asked = asked > b ? b + 1 : 0;
    const std::size_t shared = wants_threads(*this) ? kAlways : std::max(end, asked);
    if (read(split) > shared) ++split_falls;
    write(split, shared);
    if (std::exchange(open, end) != end) siblings_end = 0;
    check();
  }
  // Only the holder of the lock may call the functions from here on.

  void check() const {
    TMK_ASSERT(read(head) <= read(split));
    TMK_ASSERT(open <= read(split));
  }
  void claim(Task& task, std::size_t i) {
    check();
    TMK_ASSERT(read(task.index) == i);
    // ORDER mark-claimed: relaxed, ordered by erase-claimed and lock-worker.
    task.index.store(Task::claimed, std::memory_order_relaxed);
    // ORDER erase-claimed: release, pairs with skip-erased.
    entries[i & mask].store(0, std::memory_order_release);
  }
  // Asks the owner to open the places below `end`. The owner does so at its next push or take,
  // because both take the slow path then.
  void ring(std::size_t end) {
    asked = std::max(asked, end);
    // ORDER move-split: relaxed, ordered by heavy-fence.
    if (const std::size_t bell = std::max(end, read(bottom) + 1); bell > read(split))
      split.store(bell, std::memory_order_relaxed);
  }
  // Lets others claim below `end`, unless the owner lowers split meanwhile: the owner has then
  // opened the places itself. The thief gives the lock back, because the owner needs it to open
  // places, and because the fence that follows waits for processors.
  [[gnu::noinline]] void expose(std::unique_lock<SpinLock>& guard, std::size_t end) {
    ring(end);
    const std::size_t bell = read(split);
    const std::uint64_t seen = split_falls;
    guard.unlock();
    bool answered = false;
    for (int spins = 0; spins < 64 && !answered; ++spins) {  // about a microsecond
      pause();
      // ORDER see-answer: relaxed, rechecked by lock-worker.
      answered = split.load(std::memory_order_relaxed) < bell;
    }
    if (!answered) heavy_fence();
    guard.lock();
    if (answered || split_falls != seen) return;
    open = std::max(open, end);
    siblings_end = 0;
    check();
  }
  // ORDER read-entry-open: acquire, pairs with publish-entry.
  Entry read_entry(std::size_t i) const {
    return entries[i & mask].load(std::memory_order_acquire);
  }
  // Raises head past erased places, up to `end`, which is not above split. Returns head.
  std::size_t pass_erased(std::size_t end) {
    std::size_t h = read(head);
    while (h < end && read_entry(h) == 0) ++h;
    write(head, h);
    return h;
  }
  // The end of the siblings of the task at `first`, which is not above `end`.
  std::size_t end_of_siblings(std::size_t first, std::size_t end) const {
    const Entry siblings = siblings_of(read_entry(first));
    if (siblings == 0) return first + 1;
    for (std::size_t i = first + 1; i < end; ++i) {
      if (const Entry entry = read_entry(i); entry != 0 && siblings_of(entry) != siblings) return i;
    }
    return end;
  }
  // The first place from head on that is not erased; b if there is none.
  std::size_t first_pending(std::size_t b) const {
    std::size_t i = std::min(read(head), b);
    while (i < b && read(entries[i & mask]) == 0) ++i;
    return i;
  }
  // The place below which the deque should be open for a thief. A fence is worth half of the places
  // or, if they are few or the oldest task has siblings, all. The open places are enough if they
  // have a task at head and, if that task has siblings, number more than half of the places that a
  // fence would be worth.
  std::size_t open_goal() const {
    // ORDER goal-bottom: relaxed, ordered by read-bottom.
    const std::size_t b = bottom.load(std::memory_order_relaxed);
    const std::size_t h = first_pending(b);
    if (h >= b) return b;  // so head can pass all erased places, as in take_slowly
    const bool alone = siblings_of(read(entries[h & mask])) == 0;
    const std::size_t wanted = alone && b - h > kFew ? (b - h + 1) / 2 : b - h;
    return h < open && (alone || 2 * (open - h) > wanted) ? open : h + wanted;
  }
  // Whether only one task is pending and that task may get siblings.
  bool is_first() {
    // ORDER only-bottom: relaxed, ordered by lock-worker: when the hint is wrong, a thief waits in
    // vain, or does not wait.
    const std::size_t b = bottom.load(std::memory_order_relaxed);
    const std::size_t h = first_pending(b);
    return h + 1 == b && siblings_of(read(entries[h & mask])) != 0;
  }
  // Claims the oldest open task or, if it has siblings, the newest open one of them, because
  // futures are mostly fetched in the order in which they were made. siblings_end is kept between
  // calls, so that each place is looked at once.
  Task* claim_last_wanted() {
    // ORDER open-bottom: acquire, pairs with publish-bottom.
    const std::size_t end = std::min(open, bottom.load(std::memory_order_acquire));
    siblings_end = std::min(siblings_end, end);
    for (std::size_t h = pass_erased(end); h < end; h = pass_erased(end)) {
      if (siblings_end <= h) siblings_end = end_of_siblings(h, end);
      while (siblings_end > h) {
        const Entry entry = read_entry(--siblings_end);
        if (entry == 0) continue;  // the owner may erase any of them meanwhile, also at h
        claim(*task_of(entry), siblings_end);
        pass_erased(end);
        return task_of(entry);
      }
    }
    return nullptr;
  }

  // Owner. Bottom has reached room_end. If the tasks fill half of the array, they move to a larger
  // one. Else they move together: a window of tasks that slides past an old task leaves erased
  // places behind. Returns the bottom, which may have come down.
  [[gnu::noinline, gnu::cold]] std::size_t make_room() {
    const std::size_t capacity = entries == nullptr ? 0 : mask + 1;
    const std::lock_guard guard(lock);
    std::size_t b = read(bottom);
    const std::size_t h = first_pending(b);
    std::size_t pending = 0;
    for (std::size_t i = h; i < b; ++i) pending += read(entries[i & mask]) != 0 ? 1u : 0u;
    if (2 * pending >= capacity) {
      const std::size_t larger = std::max<std::size_t>(256, 2 * capacity);
      auto fresh = std::make_unique<std::atomic<Entry>[]>(larger);
      for (std::size_t i = h; i < b; ++i) write(fresh[i & (larger - 1)], read(entries[i & mask]));
      delete[] std::exchange(entries, fresh.release());
      mask = larger - 1;
    } else if (2 * (b - h) > capacity) {
      b = move_together(h, b);
    }
    write(head, h);
    // The owner lowers bottom to split without the lock, and must not push below head there.
    if (read(split) < h) write(split, h);
    room_end = h + mask + 1;
    count_thread(*this);
    answer();
    return b;
  }
  // Owner. Moves the tasks from h to b side by side, from h on and in the same order. The tasks
  // that were open are still open, and no others. Returns the new bottom.
  std::size_t move_together(std::size_t h, std::size_t b) {
    std::size_t end = h, opened = h;
    for (std::size_t i = h; i < b; ++i) {
      const Entry entry = read(entries[i & mask]);
      if (entry == 0) continue;
      write(entries[i & mask], 0);
      write(entries[end & mask], entry);
      write(task_of(entry)->index, end++);
      if (i < open) opened = end;
    }
    write(bottom, end);
    if (has_membarrier) {
      write(split, opened);
      open = opened;
      ++split_falls;  // a thief whose fence is under way has seen other places
    }
    siblings_end = 0;
    return end;
  }
};

}  // namespace tmk::detail
