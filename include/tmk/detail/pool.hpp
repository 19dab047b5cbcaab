// Threads for pending tasks, and how to wait for one; long because sleeping, waking and blocking
// are one protocol. The cast: a Pool has workers (deques, one for each thread that uses it) and
// threads of its own, which run what others push, block in the tasks they run, and sleep when there
// is nothing. `activity` counts the threads that run; a push looks at it and does nothing more
// while all are busy and the watchdog ticks.
//
// A thread that blocks in a wait is not counted, so another one takes its place. What sleeps
// without our knowledge (in a condition variable, a file, a barrier between tasks) is the
// watchdog's: while something is pending it looks who sleeps, and lets as many more run.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "deque.hpp"
#include "platform.hpp"

namespace tmk::detail {

inline constexpr std::uint32_t kArmed = 1u << 24;  // in `activity`: the watchdog ticks
inline constexpr std::uint32_t kRunning = kArmed - 1;
// The watchdog: how often it looks; after how many looks without progress it takes a thread that
// gives its processor away for one that polls, and any thread for one that spins; how often it
// looks at the oldest tasks, and for how many of these looks a task may stay the oldest.
inline constexpr std::chrono::milliseconds kTick{4};
inline constexpr std::uint32_t kFewLooks = 4;
inline constexpr std::uint32_t kPatience = 32;
inline constexpr std::chrono::milliseconds kAge{64};
inline constexpr std::uint32_t kOldAge = 4;

// Stands for "no worker yet": its empty lists send every fast path to the slow one.
inline constinit Worker unbound_worker{};
TMK_THREAD_LOCAL Worker* current_worker = &unbound_worker;

class Pool {
 public:
  // bad_alloc for the first one.
  explicit Pool(std::uint32_t threads, bool endless = false);
  Pool(const Pool&) = delete;
  ~Pool();
  // Runs what is pending, waits for the threads, and deletes the pool. In a task of the pool, which
  // would wait for itself (exit() ends static pools there), the pool stays.
  static void close(Pool* pool);

  // The one behind tmk::async on a thread of no other pool. Never destroyed: futures and threads
  // may outlive every static object.
  static Pool& standard() {
    // The processors of the main thread, because the first user may be a thread that is pinned.
    static Pool* const pool = new Pool(usable_processors(processors_of(getpid())), true);
    return *pool;
  }

  Worker& bind();  // bad_alloc
  void unbind(Worker& worker);

  // After a push that found activity below `quiet`: wake a thread if one may run, arm the watchdog.
  void wake() {
    // Without a watchdog nobody would try again; but to be refused takes the system its time.
    if (refused_.load() && !watched_.load()) {
      if (refusals_.fetch_add(1) % 128 != 0) return;
      refused_.store(false);
    }
    if (running() < limit() && !refused_.load()) {
      if (const std::uint64_t mask = blocked_signals(); mask != mask_.load()) mask_.store(mask);
      add_thread();
    }
    if ((activity_.fetch_or(kArmed) & kArmed) == 0) start_watchdog();
  }
  // The calling thread begins to run, or goes on after a wait.
  void enter(Worker& self) {
    self.active.store(true);
    activity_.fetch_add(1);
  }
  // It blocks or ends. What is pending gets a thread in its place.
  void leave(Worker& self) {
    self.active.store(false);
    const std::uint32_t now = stop_running();
    if (now >= limit()) return;
    if (!looks_pending()) {  // else the fence, which may take 20 us, would tell nothing new
      heavy_fence();
      if (!looks_pending()) return;
    }
    add_thread();
  }
  // Low on stack: is there, or could there be, another thread to run what the caller needs?
  bool has_help() { return running() > 1 || add_thread(); }

  std::uint32_t size() const { return target_; }
  struct Totals {
    std::uint64_t tasks = 0, steals = 0, inline_claims = 0, blocked_waits = 0, threads_added = 0;
  };
  Totals totals();

 private:
  // All pools, for fork, and workers that no pool has. Not destroyed either.
  struct Registry {
    std::mutex mutex;
    Pool* pools = nullptr;
    Worker* spare = nullptr;
    pid_t forking = 0;  // the thread that holds the mutex over a fork
  };
  static Registry& registry() {
    static Registry* const all = make_registry();
    return *all;
  }
  static Registry* make_registry();
  static void prepare_fork();
  static void finish_fork();
  static void begin_child();
  void begin_anew(pid_t parent_thread);

  Worker* try_bind() noexcept;
  std::uint32_t running() const { return activity_.load() & kRunning; }
  std::uint32_t limit() const { return target_ + extra_.load(); }
  // One thread less runs; how many still do.
  std::uint32_t stop_running() {
    // ORDER announce-sleep: seq_cst, ordered by heavy-fence, which comes before a look for tasks.
    const std::uint32_t before = activity_.fetch_sub(1) & kRunning;
    TMK_ASSERT(before != 0);
    if (closing_.load()) futex_wake(activity_, INT_MAX);
    return before - 1;
  }

  bool add_thread();
  bool start(void (Pool::*body)());
  void thread_main();
  void run_until_idle(Worker& self);
  Task* find(Worker& self, std::uint32_t& start);
  Task* find_starving(Worker& self);
  bool unpark_one();
  bool park();
  void start_watchdog();
  void watchdog_main();
  bool looks_pending();
  bool is_pending();
  std::uint32_t count_places();
  std::uint64_t claims();
  std::uint32_t count_waiting(std::chrono::nanoseconds since, bool stuck);
  std::uint32_t mark_starving();

  const std::uint32_t target_;
  const bool endless_;
  const cpu_set_t processors_;  // of the maker; threads that are endless use the main thread's
  alignas(128) std::atomic<std::uint32_t> activity_{0};
  alignas(128) std::atomic<std::uint32_t> tokens_{0};  // each lets one parked thread go on
  std::atomic<std::uint32_t> parked_{0};
  std::atomic<std::uint32_t> extra_{0};    // threads beyond target_ that the watchdog allows
  std::atomic<std::uint32_t> alarm_{0};    // wakes the watchdog
  std::atomic<std::uint32_t> threads_{0};  // of this pool's own, the watchdog included
  std::atomic<std::uint64_t> added_{0};
  std::atomic<std::uint64_t> begun_threads_{0};  // by add_thread, parked ones included
  std::atomic<bool> refused_{false};             // the system gave no thread
  std::atomic<std::uint32_t> refusals_{0};  // pushes since there was none even for the watchdog
  std::atomic<bool> watched_{false};        // the watchdog exists
  std::atomic<std::uint32_t> starving_{0};  // workers that are marked so
  std::atomic<std::uint64_t> mask_{blocked_signals()};  // of the thread that last woke one of ours
  std::atomic<bool> plain_stacks_{false};               // the system has no room for large ones
  std::atomic<bool> closing_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<Worker*> workers_{nullptr};
  Pool* next_ = nullptr;  // in the registry
};

// Binds a worker of the standard pool. The value of a key gives it back when the thread ends: after
// all its thread_locals, whose destructors may still use tmk. bad_alloc.
[[gnu::noinline]] inline Worker& bind_this_thread() {
  keep_module_loaded();
  static const pthread_key_t key = [] {
    pthread_key_t made;
    const auto give_back = [](void* bound) {
      auto& worker = *static_cast<Worker*>(bound);
      current_worker = &unbound_worker;
      worker.pool->unbind(worker);
    };
    if (pthread_key_create(&made, give_back) != 0) throw std::bad_alloc();
    return made;
  }();
  Worker& worker = Pool::standard().bind();
  if (pthread_setspecific(key, &worker) != 0) {
    worker.pool->unbind(worker);
    throw std::bad_alloc();
  }
  return *(current_worker = &worker);
}
inline Worker& this_worker() {
  Worker* const worker = current_worker;
  return worker != &unbound_worker ? *worker : bind_this_thread();
}
// The same for those who can do without one: null if there is no memory for it.
inline Worker* try_this_worker() noexcept {
  try {
    return &this_worker();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

inline bool stack_left(const Worker& worker) { return stack_pointer() > worker.stack_end; }

// Makes a task pending; `siblings`: of those that are mostly awaited oldest first.
inline void submit(Worker& worker, Task& task, Entry siblings = 0) {
  worker.push(task, siblings);
  // ORDER look-for-sleepers: relaxed, ordered by light-fence.
  if (worker.activity->load(std::memory_order_relaxed) < worker.quiet) [[unlikely]] {
    worker.share();
    worker.pool->wake();
  }
}

// Blocks until the task is ready or, if there is a deadline, until then: false.
inline bool block_until(Task& task, const timespec* deadline = nullptr) {
  for (int spins = 0; spins < 40; ++spins) {  // 1 to 2 us: less than a sleep and a wake-up cost
    if (task.ready()) return true;
    pause();
  }
  Worker& worker = *current_worker;  // a thread that has none does not count as running
  if (&worker != &unbound_worker) worker.blocked.increment();
  const bool counted = worker.counted;
  if (counted) worker.pool->leave(worker);
  bool timed_out = false;
  while (!task.ready() && !timed_out) {
    if (const std::uint32_t seen = task.announce_wait(); (seen & kReady) == 0) {
      timed_out = !futex_wait_until(task.state, seen, deadline);
    }
  }
  if (counted) worker.pool->enter(worker);
  return task.ready();
}

// Returns when the task is ready. What is pending is claimed and run in place.
inline void wait_until_ready(Task& task) {
  if (task.ready()) return;
  if (task.operations->run != nullptr) {
    if (task.worker == nullptr) {  // deferred
      if ((task.state.fetch_or(kStarted) & kStarted) == 0) return task.operations->run(task);
    } else {
      Worker* const self = try_this_worker();
      if (self == nullptr || stack_left(*self) || !self->pool->has_help()) {
        const bool own = task.worker == self;
        if (own ? self->take(task) : task.worker->revoke(task)) {
          if (!own && self != nullptr) self->revoked.increment();
          // ORDER mark-taken: relaxed, rechecked by held: a waiter that reads the index from before
          // does not find the task at the place. Should the task wait for itself, it does not run
          // again.
          task.index.store(Task::claimed, std::memory_order_relaxed);
          return task.operations->run(task);
        }
      }
    }
  }
  block_until(task);
}

// ---------------------------------------------------------------- the pool

// A forked child has one thread, and what others were amid changing is not to be touched in it. So
// the forking thread holds the locks of its own workers meanwhile, and a child keeps these alone.
// The parent runs the tasks that were pending; the child runs one of them only if it fetches it.
inline Pool::Registry* Pool::make_registry() {
  if (pthread_atfork(&prepare_fork, &finish_fork, &begin_child) != 0) throw std::bad_alloc();
  return new Registry;
}
template <class F>
void each_worker_of(Worker* first, pid_t thread, const F& body) {
  for (Worker* w = first; w != nullptr;) {
    Worker* const next = w->next;
    if (w->thread.load() == thread) body(*w);
    w = next;
  }
}
inline void Pool::prepare_fork() {
  registry().mutex.lock();
  registry().forking = gettid();
  for (Pool* p = registry().pools; p != nullptr; p = p->next_) {
    each_worker_of(p->workers_.load(), gettid(), [](Worker& own) { own.lock.lock(); });
  }
}
inline void Pool::finish_fork() {
  for (Pool* p = registry().pools; p != nullptr; p = p->next_) {
    each_worker_of(p->workers_.load(), gettid(), [](Worker& own) { own.lock.unlock(); });
  }
  registry().mutex.unlock();
}
inline void Pool::begin_child() {
  register_membarrier();  // of the process; if it is refused, heavy_fence() does without
  for (Pool* p = registry().pools; p != nullptr; p = p->next_) p->begin_anew(registry().forking);
  registry().mutex.unlock();
}
inline void Pool::begin_anew(pid_t parent_thread) {
  std::uint32_t running = 0, pooled = 0;
  Worker* kept = nullptr;
  each_worker_of(workers_.load(), parent_thread, [&](Worker& own) {
    own.next = std::exchange(kept, &own);
    own.thread.store(gettid());
    for (auto& list : own.returned) list.store(nullptr);  // others may have been amid giving back
    own.exposing = false;                                 // or have had a fence under way
    own.starving.store(false);
    own.leave_pending_behind();
    if (own.counted) ++running;
    if (own.pooled) ++pooled;
    own.lock.unlock();
  });
  workers_.store(kept);
  activity_.store(running);
  for (auto* word : {&tokens_, &parked_, &extra_, &alarm_, &starving_}) word->store(0);
  threads_.store(pooled);
  refused_.store(false);
  watched_.store(false);
}

inline Pool::Pool(std::uint32_t threads, bool endless)
    : target_(std::max(1u, threads)), endless_(endless), processors_(processors_of(0)) {
  const std::lock_guard guard(registry().mutex);
  next_ = std::exchange(registry().pools, this);
}

inline Worker& Pool::bind() {
  Worker* worker = workers_.load();
  for (bool expected = false; worker != nullptr; worker = worker->next, expected = false) {
    if (!worker->bound.load() && worker->bound.compare_exchange_strong(expected, true)) break;
  }
  if (worker == nullptr) {
    {
      const std::lock_guard guard(registry().mutex);
      worker = registry().spare;
      if (worker != nullptr) registry().spare = worker->next;
    }
    if (worker != nullptr) worker->reset_counters();
    if (worker == nullptr) worker = new Worker;
    worker->bound.store(true);
    worker->pool = this;
    worker->activity = &activity_;
    worker->quiet = kArmed + target_;
    worker->next = workers_.load();
    while (!workers_.compare_exchange_weak(worker->next, worker)) {
    }
  }
  worker->stack_end = stack_limit();
  if (!has_membarrier) {                        // nothing is private
    const std::lock_guard guard(worker->lock);  // a thief may look at one that was used before
    worker->split.store(SIZE_MAX);
    worker->open = SIZE_MAX;
  }
  worker->counted = worker->pooled = false;
  worker->thread.store(gettid());
  worker->room_end = 0;  // so that the first push comes by make_room, which counts the thread
  return *worker;
}
inline Worker* Pool::try_bind() noexcept {
  try {
    return &bind();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

inline void Pool::unbind(Worker& worker) {
  if (std::exchange(worker.counted, false)) leave(worker);
  worker.thread.store(0);
  worker.bound.store(false);  // what it still holds is stolen or revoked
}

inline void count_thread(Worker& worker) {
  if (!std::exchange(worker.counted, true)) worker.pool->enter(worker);
}

inline void Pool::close(Pool* pool) {
  bool inside = false;
  each_worker_of(pool->workers_.load(), gettid(), [&](Worker& /*own*/) { inside = true; });
  if (!inside) delete pool;
}

inline Pool::~Pool() {
  // Where there is no thread of our own, nobody else would run what is left. Should there be no
  // memory for a worker, those who wait for it will.
  if (Worker* const self = workers_.load() == nullptr ? nullptr : try_bind()) {
    Worker* const before = std::exchange(current_worker, self);
    count_thread(*self);
    closing_.store(true);
    // A thread that neither runs nor sleeps in park() waits within a task, or is about to end.
    const auto is_busy = [this](std::uint32_t activity) {
      const std::uint32_t own = threads_.load() - (watched_.load() ? 1 : 0);
      return (activity & kRunning) != 0 || parked_.load() < own;
    };
    do {
      run_until_idle(*self);
      leave(*self);
      for (std::uint32_t now = activity_.load(); is_busy(now); now = activity_.load()) {
        // Not for ever, because the end of a thread wakes nobody.
        const timespec soon = in(std::chrono::milliseconds(10));
        futex_wait_until(activity_, now, &soon);
      }
      enter(*self);
    } while (is_pending());
    current_worker = before;
    unbind(*self);
  }
  stopping_.store(true);
  alarm_.store(1);
  futex_wake(alarm_, 1);
  for (std::uint32_t left = threads_.load(); left != 0; left = threads_.load()) {
    tokens_.fetch_add(left);
    futex_wake(tokens_, INT_MAX);
    const timespec soon = in(std::chrono::milliseconds(100));
    futex_wait_until(threads_, left, &soon);
  }
  const std::lock_guard guard(registry().mutex);
  Pool** link = &registry().pools;
  while (*link != this) link = &(*link)->next_;
  *link = next_;
  for (Worker* worker = workers_.load(); worker != nullptr;) {
    Worker* const next = worker->next;
    worker->starving.store(false);
    worker->next = std::exchange(registry().spare, worker);
    worker = next;
  }
}

inline bool Pool::looks_pending() {
  for (Worker* w = workers_.load(); w != nullptr; w = w->next) {
    if (w->looks_pending()) return true;
  }
  return false;
}
inline bool Pool::is_pending() {
  for (Worker* w = workers_.load(); w != nullptr; w = w->next) {
    if (w->any_pending()) return true;
  }
  return false;
}
// Places of deques between the oldest and the newest task: at least as many as tasks are pending.
inline std::uint32_t Pool::count_places() {
  std::uint64_t sum = 0;
  for (Worker* w = workers_.load(); w != nullptr; w = w->next) sum += w->places();
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(sum, kRunning / 2));
}
inline std::uint64_t Pool::claims() {
  std::uint64_t sum = 0;
  for (Worker* w = workers_.load(); w != nullptr; w = w->next) {
    sum += w->taken.read() + w->revoked.read() + w->stolen.read();
  }
  return sum;
}
inline Pool::Totals Pool::totals() {
  Totals sum;
  for (Worker* w = workers_.load(); w != nullptr; w = w->next) {
    const std::uint64_t claimed = w->taken.read() + w->revoked.read();
    sum.tasks += claimed + w->stolen.read() + w->count_pending();
    sum.steals += w->stolen.read();
    sum.inline_claims += claimed - w->popped.read();
    sum.blocked_waits += w->blocked.read();
  }
  sum.threads_added = added_.load();
  return sum;
}

// The oldest task of a worker that the watchdog has marked; null if there is none.
inline Task* Pool::find_starving(Worker& self) {
  for (Worker* w = workers_.load(); w != nullptr; w = w->next) {
    if (!w->starving.load() || !w->starving.exchange(false)) continue;
    starving_.fetch_sub(1);
    if (Task* const task = w->claim_oldest(w == &self)) {
      (w == &self ? self.popped : self.stolen).increment();
      if (w == &self) self.taken.increment();
      return task;
    }
  }
  return nullptr;
}
inline Task* Pool::find(Worker& self, std::uint32_t& start) {
  if (starving_.load() != 0) {
    if (Task* const task = find_starving(self)) return task;
  }
  if (Task* const own = self.pop()) {
    self.popped.increment();
    return own;
  }
  start = start * 1664525 + 1013904223;  // so that thieves do not all come to the same victim
  for (std::uint32_t skip = (start >> 28) + 1, round = 0; round < 2; ++round) {
    for (Worker* w = workers_.load(); w != nullptr; w = w->next) {
      if (round == 0 && skip != 0) {
        --skip;
        continue;
      }
      if (w == &self) continue;
      if (Task* const task = w->steal()) {
        self.stolen.increment();
        // Wake-ups spread from thread to thread: whoever finds more than it takes wakes the next.
        if (running() < limit() && w->looks_pending()) add_thread();
        return task;
      }
    }
  }
  return nullptr;
}

// Runs what there is; returns after a while without anything.
inline void Pool::run_until_idle(Worker& self) {
  constexpr int kLooks = 48;
  std::uint32_t start = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(&self) >> 7);
  for (int looks = 0; looks < kLooks; ++looks) {
    // Too many run when a thread has come back from a wait; but a starving task goes first.
    if (running() > limit() && starving_.load() == 0 && !stopping_.load()) return;
    if (Task* const task = find(self, start)) {
      task->operations->run(*task);
      looks = 0;
    } else if (running() > target_ && !stopping_.load()) {
      return;  // a thread in place of one that waits has nothing to do here
    } else {
      for (int each = 0; each < 2 * looks; ++each) pause();
    }
  }
}

inline void Pool::thread_main() {
  // A task may end its thread, with pthread_exit: what is needed after it is in destructors.
  struct Member {
    Pool& pool;
    Worker& self;
    ~Member() {
      current_worker = &unbound_worker;
      pool.unbind(self);
    }
  };
  Worker* const bound = try_bind();
  if (bound == nullptr) {  // as if there had been no thread to be had
    stop_running();
    refused_.store(true);
    return;
  }
  const Member member{*this, *bound};
  const cpu_set_t processors = endless_ ? processors_of(getpid()) : processors_;
  if (CPU_COUNT(&processors) != 0) sched_setaffinity(0, sizeof processors, &processors);
  Worker& self = *bound;
  current_worker = &self;
  self.counted = true;  // by add_thread
  self.pooled = true;
  do {
    block_signals(mask_.load());  // as a thread of std::async does that the pusher would make
    self.active.store(true);
    run_until_idle(self);
    self.active.store(false);
    block_signals(kForeignSignals);  // the program may unblock some, or wait for them, meanwhile
  } while (park());
  self.counted = false;  // by park
}

// Sleeps until there is something to do; false: this thread is to end. It is counted before and
// after, not while it sleeps.
inline bool Pool::park() {
  parked_.fetch_add(1);
  stop_running();
  heavy_fence();
  if (running() < limit() && looks_pending() && unpark_one()) {
    activity_.fetch_add(1);
    return true;
  }
  if (parked_.load() > 2 * target_ + 8 && unpark_one()) return false;
  for (std::uint32_t tokens = tokens_.load();;) {
    if (stopping_.load()) return false;
    if (tokens == 0) {
      futex_wait_until(tokens_, 0, nullptr);
      tokens = tokens_.load();
    } else if (tokens_.compare_exchange_weak(tokens, tokens - 1)) {
      return true;  // whoever left the token has counted us
    }
  }
}

// Takes one off the number of parked threads: it is awake, or gets a token.
inline bool Pool::unpark_one() {
  std::uint32_t parked = parked_.load();
  while (parked > 0 && !parked_.compare_exchange_weak(parked, parked - 1)) {
  }
  return parked > 0;
}

// One more thread runs: a parked one or a new one. False when there is none to be had.
inline bool Pool::add_thread() {
  activity_.fetch_add(1);
  begun_threads_.fetch_add(1);
  if (unpark_one()) {
    tokens_.fetch_add(1);
    futex_wake(tokens_, 1);
    return true;
  }
  if (start(&Pool::thread_main)) {
    added_.fetch_add(1);
    return true;
  }
  stop_running();  // as many as there are must do, for a tick
  refused_.store(true);
  return false;
}

inline bool Pool::start(void (Pool::*body)()) {
  keep_module_loaded();  // which need not be that of the registry's maker
  struct Start {
    Pool* pool;
    void (Pool::*body)();
  };
  auto* const start = new (std::nothrow) Start{this, body};
  if (start == nullptr) return false;
  threads_.fetch_add(1);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  // No signal reaches a thread of ours before it runs tasks.
  const std::uint64_t mask = blocked_signals();
  block_signals(kForeignSignals);
  pthread_t thread;
  const auto create = [&](std::size_t stack_bytes) {
    pthread_attr_setstacksize(&attributes, stack_bytes);
    return pthread_create(
        &thread, &attributes,
        [](void* argument) -> void* {
          struct Member {
            Pool& pool;
            ~Member() {
              std::atomic<std::uint32_t>& left = pool.threads_;
              const bool endless = pool.endless_;
              // The pool may be gone as soon as the number is zero, so the word is not read again.
              if (left.fetch_sub(1) == 1 && !endless) futex_wake(left, 1);
            }
          };
          const Start given = *std::unique_ptr<Start>(static_cast<Start*>(argument));
          const Member member{*given.pool};
          (member.pool.*given.body)();
          return nullptr;
        },
        start);
  };
  const bool plain = plain_stacks_.load();
  int error = create(plain ? default_stack() : pool_stack());
  if (error != 0 && !plain && (error = create(default_stack())) == 0) plain_stacks_.store(true);
  block_signals(mask);
  pthread_attr_destroy(&attributes);
  if (error == 0) return true;
  threads_.fetch_sub(1);
  delete start;
  return false;
}

inline void Pool::start_watchdog() {
  alarm_.store(1);
  if (watched_.exchange(true)) {
    futex_wake(alarm_, 1);
  } else if (!start(&Pool::watchdog_main)) {
    watched_.store(false);
    refused_.store(true);
    activity_.fetch_and(~kArmed);  // some later push tries again
  }
}

inline void Pool::watchdog_main() {
  using std::chrono::steady_clock;
  while (!stopping_.load()) {
    if (alarm_.exchange(0) == 0) {
      futex_wait_until(alarm_, 0, nullptr);
      continue;
    }
    std::uint64_t before = claims(), credit = 0, begun_before = begun_threads_.load();
    bool others_run = false;
    std::uint32_t stuck = 0, next = kPatience, patient = 0;
    // Threads that may run though none waits: more than run now, also where threads of the program
    // alone are more than the pool's size.
    std::uint32_t beyond = 0;
    std::chrono::nanoseconds pause = kTick;
    auto last = steady_clock::now(), aged = last;
    while (!stopping_.load()) {
      const timespec tick = in(pause);
      futex_wait_until(alarm_, 0, &tick);
      const auto begun = steady_clock::now();
      refused_.store(false);
      if (!is_pending()) {
        // Threads of the program that sleep still count as running; in their place others may run,
        // and a push need not wait for the next look.
        extra_.store(count_waiting(begun - last, false));
        // ORDER disarm: seq_cst, ordered by heavy-fence, which comes before the look for tasks.
        activity_.fetch_and(~kArmed);
        heavy_fence();
        if (!looks_pending() || (activity_.fetch_or(kArmed) & kArmed) != 0) break;
      }
      // A thread that was added claims one task; further claims mean that others have ended.
      const std::uint64_t claimed = claims() - before;
      before += claimed;
      const std::uint64_t begun_now = begun_threads_.load();
      credit += begun_now - std::exchange(begun_before, begun_now);
      if (claimed > credit) {
        credit = stuck = 0;
        patient /= 2;
        next = kPatience * (patient + 1);
        others_run = true;
      } else {
        credit -= claimed;
        if (++stuck >= next) {  // the running threads may spin, waiting for a pending task
          ++patient;
          next = stuck + kPatience * (patient + 1);
          beyond = std::max(beyond, running() + 1);
        }
      }
      // Where nothing gets on, the oldest task does not starve more than others.
      if (begun - aged >= kAge && std::exchange(others_run, false)) {
        aged = begun;
        const std::uint32_t starved = mark_starving();
        beyond = starved == 0 ? 0 : running() + starved;
      }
      const std::uint32_t waiting = count_waiting(begun - last, stuck >= kFewLooks);
      last = begun;
      // While most wait and nothing gets on, as many again may run: thousands may wait for each
      // other.
      const bool idle = stuck > 0 && 4 * waiting >= 3 * running();
      const std::uint32_t most = target_ + patient + (idle ? 2 * waiting : waiting);
      extra_.store(std::min(kRunning / 4, std::max(most, beyond) - target_));
      // The watchdog leaves most of its processor to others, however many threads there are.
      pause = std::max<std::chrono::nanoseconds>(kTick, 8 * (steady_clock::now() - begun));
      for (std::uint32_t places = count_places(); running() < limit() && places != 0; --places) {
        if (!add_thread()) break;
      }
    }
  }
}

// Threads that count as running and wait: they sleep and have hardly run `since` the last look or,
// if `stuck`, have given their processor away again and again, as a thread does that polls.
inline std::uint32_t Pool::count_waiting(std::chrono::nanoseconds since, bool stuck) {
  constexpr std::int64_t kShortNs = 50'000;
  std::uint32_t count = 0;
  for (Worker* w = workers_.load(); w != nullptr; w = w->next) {
    const pid_t thread = w->thread.load();
    const std::int64_t used_ns = w->active.load() ? cpu_ns(thread) : -1;
    const std::int64_t ran_ns = used_ns - std::exchange(w->seen_cpu_ns, used_ns);
    const bool slept = used_ns >= 0 && 8 * ran_ns < since.count() &&
                       ((w->seen_asleep && ran_ns == 0) || is_asleep(thread));
    const std::uint64_t times = stuck && used_ns >= 0 && !slept ? times_scheduled(thread) : 0;
    const std::uint64_t before = std::exchange(w->seen_scheduled, times);
    const bool polls =
        before != 0 && times > before && ran_ns < kShortNs * std::int64_t(times - before);
    w->seen_asleep = slept;
    if (slept || polls) ++count;
  }
  return count;
}

// Marks the workers whose oldest task stays pending while others are run; how many were marked
// before already, because no thread came by.
inline std::uint32_t Pool::mark_starving() {
  std::uint32_t unserved = 0;
  for (Worker* w = workers_.load(); w != nullptr; w = w->next) {
    const Entry oldest = w->oldest();
    if (oldest == 0) {
      w->oldest_age = 0;
    } else if (oldest == w->seen_oldest) {
      ++w->oldest_age;
    } else {  // after one that starved, the next ones need not wait as long
      w->oldest_age = w->oldest_age < kOldAge ? 0 : kOldAge - 1;
    }
    w->seen_oldest = oldest;
    if (w->oldest_age < kOldAge) continue;
    if (w->starving.exchange(true)) {
      ++unserved;
    } else {
      starving_.fetch_add(1);
    }
  }
  return unserved;
}

}  // namespace tmk::detail
