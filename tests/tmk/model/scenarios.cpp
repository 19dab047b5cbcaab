// The promises of the runtime in every execution: each task runs once, after its contents are
// there; its memory is its owner's again when it is ready; no thread sleeps while there is work for
// it. Each scenario is as small as its interleaving allows.
#include "standard.hpp"
// The scenarios run the parts of a protocol one by one, also those that only the runtime calls.
#define private public
#include "tmk/async.hpp"
#include "tmk/fork_join.hpp"
#include "tmk/mutex.hpp"
#include "tmk/pool.hpp"
#undef private
//
#include "scenario.hpp"

namespace model {
namespace {

using tmk::detail::Claim;
using tmk::detail::current_worker;
using tmk::detail::Entry;
using tmk::detail::kArmed;
using tmk::detail::Pool;
using tmk::detail::Task;
using tmk::detail::Worker;

// A task whose memory is used again as soon as its future allows it.
struct alignas(tmk::detail::kBlockBytes) Job : Task {
  explicit Job(int number_, int& ran_) : number(number_), ran(&ran_) { operations = &kOperations; }
  static void run(Task& task) {
    auto& self = static_cast<Job&>(task);
    ++*self.ran;
    require(self.number > 0, "the contents are there");
    self.publish(false);
  }
  static void destroy(Task& /*task*/) noexcept {}
  static constexpr tmk::detail::Operations kOperations{&run, &destroy};
  int number;
  int* ran;
};
void run(Task& task) { task.operations->run(task); }

// A pool so busy that it wants no thread, for scenarios that bring their own threads.
Pool& busy_pool() {
  Pool& pool = *new Pool(1);
  pool.activity_ = kArmed + 8;
  return pool;
}

// A worker with an owner and up to three jobs.
struct Deque {
  Pool& pool = busy_pool();
  Worker& worker = pool.bind();
  int ran[3] = {};
  Job a{1, ran[0]}, b{2, ran[1]}, c{3, ran[2]};
  Deque() { let_thieves_hear(); }

  void push(Job& job, Entry siblings = 0) { worker.push(job, siblings); }
  // The rest of a get(): the caller waits for a job that it did not claim; then the memory is free.
  void finish(Job& job, bool claimed) {
    if (claimed) run(job);
    when_set(&job.state, tmk::detail::kReady);
    require(job.ready(), "it is ready");
    ::new (&job) Job(0, ran[0]);
  }
  void get(Job& job) { finish(job, worker.take(job)); }
  void get_from_elsewhere(Job& job) { finish(job, worker.revoke(job)); }
  void steal(int times) {
    for (int i = 0; i < times; ++i) {
      if (Task* const task = worker.steal().task) run(*task);
    }
  }
  void pop_all() {
    while (Task* const task = worker.pop()) run(*task);
  }
  // Nothing is lost, nothing has run twice.
  void end(int jobs) {
    require(settle() == 0, "all have ended");
    for (int each = 0; each < jobs; ++each) steal(1);
    require(worker.count_pending() == 0, "nothing is left");
    for (int i = 0; i < 3; ++i) require(ran[i] == (i < jobs ? 1 : 0), "each has run once");
  }
};

void owner_takes_newest_first() {
  Deque d;
  d.push(d.a);
  d.push(d.b);
  spawn([&] {
    d.get(d.b);
    d.get(d.a);
  });
  spawn([&] { d.steal(2); });
  d.end(2);
}
// Takes jobs as fork_join takes its branches: it erases nothing and uses places again.
struct Branches : Deque {
  void join(Job& job) {
    const Claim found = worker.take_newest(job);
    if (found == Claim::taken || (found == Claim::shared && worker.take_newest_slowly(job))) {
      run(job);
    } else {
      get(job);
      return;
    }
    ::new (&job) Job(0, ran[0]);
  }
};
void owner_joins_and_forks_again(const std::function<void(Branches&)>& steal) {
  Branches d;
  d.push(d.a);
  spawn([&] {
    d.join(d.a);
    d.push(d.b);
    d.join(d.b);
  });
  spawn([&] { steal(d); });
  d.end(2);
}
void owner_joins_what_a_thief_wants() {
  owner_joins_and_forks_again([](Branches& d) { d.steal(2); });
}
void owner_joins_the_oldest_task() {
  owner_joins_and_forks_again([](Branches& d) {
    if (Task* const task = d.worker.claim_oldest(false)) run(*task);
  });
}
constexpr tmk::detail::StackBounds kAnywhere{0, UINTPTR_MAX, 0};
// The runner of a task forks and joins, while the thread that waits for the task helps.
void a_waiter_helps() {
  Branches d;
  spawn([&] {
    tmk::detail::Run of_c{d.c, kAnywhere, UINTPTR_MAX, nullptr};
    d.worker.note_run(&of_c);
    for (Job* each : {&d.a, &d.b}) {
      d.push(*each, tmk::detail::kBranch);
      d.join(*each);
    }
    d.worker.note_run(nullptr);
  });
  spawn([&] {
    for (int i = 0; i < 2; ++i) {
      if (Task* const task = d.worker.claim_within(d.c).task) run(*task);
    }
  });
  d.end(2);
}
void a_waiter_helps_beside_a_thief() {
  Branches d;
  tmk::detail::Run of_c{d.c, kAnywhere, UINTPTR_MAX, nullptr};
  d.worker.note_run(&of_c);
  d.push(d.a, tmk::detail::kBranch);
  d.push(d.b, tmk::detail::kBranch);
  spawn([&] {
    d.join(d.b);
    d.join(d.a);
  });
  spawn([&] {
    if (Task* const task = d.worker.claim_within(d.c).task) run(*task);
  });
  spawn([&] { d.steal(1); });
  d.end(2);
}
void owner_takes_oldest_first() {
  Deque d;
  d.push(d.a);
  d.push(d.b);
  spawn([&] {
    d.get(d.a);
    d.get(d.b);
  });
  spawn([&] { d.steal(2); });
  d.end(2);
}
void siblings_are_taken_from_both_ends() {
  Deque d;
  for (Job* each : {&d.a, &d.b, &d.c}) d.push(*each, 1);
  spawn([&] {
    d.get(d.a);
    d.get(d.b);
    d.get(d.c);
  });
  spawn([&] { d.steal(2); });
  d.end(3);
}
void siblings_have_children() {
  Deque d;
  d.push(d.a, 1);
  d.push(d.b, 1);
  spawn([&] {
    d.get(d.a);
    d.push(d.c, 3);
    d.get(d.b);
  });
  spawn([&] { d.steal(2); });
  d.end(3);
}
void owner_pushes_while_a_thief_looks() {
  Deque d;
  d.push(d.a);
  spawn([&] {
    d.push(d.b);
    d.get(d.b);
    d.get(d.a);
  });
  spawn([&] { d.steal(2); });
  d.end(2);
}
void a_place_is_used_again() {
  Deque d;
  d.push(d.a);
  spawn([&] {
    d.get(d.a);
    d.push(d.b);
    d.get(d.b);
  });
  spawn([&] { d.steal(2); });
  d.end(2);
}
void a_place_is_used_again_and_left() {
  Deque d;
  d.push(d.a);
  spawn([&] {
    d.get(d.a);
    d.push(d.b);
  });
  spawn([&] { d.steal(2); });
  d.end(2);
}
void two_thieves() {
  Deque d;
  d.push(d.a);
  d.push(d.b);
  spawn([&] { d.get(d.b); });
  spawn([&] { d.steal(1); });
  spawn([&] { d.steal(1); });
  d.end(2);
}
void a_waiter_revokes() {
  Deque d;
  d.push(d.a);
  d.push(d.b);
  spawn([&] { d.pop_all(); });
  spawn([&] { d.get_from_elsewhere(d.a); });
  d.end(2);
}
void a_waiter_revokes_the_newest() {
  Deque d;
  d.push(d.a);
  d.push(d.b);
  spawn([&] { d.get(d.a); });
  spawn([&] { d.get_from_elsewhere(d.b); });
  d.end(2);
}
// The owner, too, has a future of the revoked task.
void a_shared_task_is_revoked() {
  Deque d;
  d.push(d.a);
  d.push(d.b);
  spawn([&] {
    d.get(d.b);
    d.push(d.c);
    if (d.worker.take(d.a)) run(d.a);
    d.get(d.c);
  });
  spawn([&] {
    if (d.worker.revoke(d.a)) run(d.a);
  });
  d.end(3);
}
void a_waiter_and_a_thief() {
  Deque d;
  d.push(d.a);
  spawn([&] { d.pop_all(); });
  spawn([&] { d.get_from_elsewhere(d.a); });
  spawn([&] { d.steal(1); });
  d.end(1);
}
void a_future_is_given_away() {
  Deque d;
  std::atomic<Job*> given{nullptr};
  spawn([&] {
    d.push(d.a);
    given.store(&d.a, std::memory_order_release);
    d.pop_all();
  });
  spawn([&] {
    if (given.load(std::memory_order_acquire) != nullptr) d.get_from_elsewhere(d.a);
  });
  d.end(1);
}
void pop_against_thief() {
  Deque d;
  d.push(d.a);
  d.push(d.b);
  spawn([&] { d.pop_all(); });
  spawn([&] { d.steal(2); });
  d.end(2);
}
void entries_grow() {
  Deque d;
  d.push(d.a);
  d.push(d.b);
  spawn([&] { d.push(d.c); });
  spawn([&] { d.steal(2); });
  d.end(3);
}
void entries_go_round() {
  Deque d;
  d.push(d.a);
  d.push(d.b);
  spawn([&] {
    d.get(d.a);
    d.push(d.c);
    d.get(d.c);
  });
  spawn([&] { d.steal(2); });
  d.end(3);
}
// The places of other tasks behind an old one are erased, so the tasks that are left move together.
struct Window : Deque {
  std::array<Job, 6> between{Job{1, ran[0]}, Job{1, ran[0]}, Job{1, ran[0]},
                             Job{1, ran[0]}, Job{1, ran[0]}, Job{1, ran[0]}};
  Window() {
    push(a);
    for (std::size_t i = 0; i < between.size(); ++i) {
      push(between[i]);
      if (i > 0) require(worker.take(between[i - 1]), "nobody else is there");
    }
    push(b);
    require(worker.take(between.back()), "nobody else is there");
  }
};
void entries_move_together() {
  Window d;
  spawn([&] {
    d.push(d.c);
    require(d.worker.mask + 1 == 8, "no larger array");
    d.get(d.b);
  });
  spawn([&] { d.steal(1); });
  d.end(3);
}
void entries_move_under_a_waiter() {
  Window d;
  spawn([&] {
    d.push(d.c);
    if (d.worker.take(d.b)) run(d.b);
  });
  spawn([&] {
    if (d.worker.revoke(d.b)) run(d.b);
  });
  d.end(3);
}
void a_thief_takes_the_oldest() {
  Deque d;
  d.push(d.a, 1);
  d.push(d.b, 1);
  spawn([&] {
    d.get(d.a);
    d.get(d.b);
  });
  spawn([&] {
    if (Task* const task = d.worker.claim_oldest(false)) run(*task);
  });
  d.end(2);
}
// While the fence of a waiter is under way, the owner uses an emptied place again.
void a_thief_takes_the_oldest_beside_a_fence() {
  Deque d;
  d.push(d.a);
  d.worker.share();
  d.push(d.b);
  spawn([&] {
    if (d.worker.take(d.b)) run(d.b);
    d.push(d.c);
  });
  spawn([&] {
    if (d.worker.revoke(d.b)) run(d.b);
  });
  spawn([&] {
    if (Task* const task = d.worker.claim_oldest(false)) run(*task);
  });
  d.end(3);
}
void the_owner_takes_the_oldest() {
  Deque d;
  d.push(d.a);
  d.push(d.b);
  spawn([&] {
    while (Task* const task = d.worker.claim_oldest(true)) run(*task);
  });
  spawn([&] { d.steal(2); });
  d.end(2);
}
void all_is_shared() {
  Deque d;
  d.push(d.a);
  spawn([&] {
    d.push(d.b);
    d.worker.share();
    d.get(d.b);
  });
  spawn([&] { d.steal(2); });
  d.end(2);
}
// A thief has found nothing: the owner opens the next task that it pushes, or takes it first.
void a_thief_asks() {
  Deque d;
  spawn([&] {
    d.push(d.a);
    d.get(d.a);
    d.push(d.b);
  });
  spawn([&] {
    d.worker.ask();
    d.steal(1);
  });
  d.end(2);
}
// The thief leaves the first of the siblings, or the last task that is there.
void a_thief_leaves_the_first() {
  Deque d;
  d.push(d.a, 1);
  spawn([&] {
    d.push(d.b, 1);
    d.get(d.a);
    d.get(d.b);
  });
  spawn([&] {
    if (Task* const task = d.worker.steal(true).task) run(*task);
    d.steal(1);
  });
  d.end(2);
}
void a_worker_gets_another_owner() {
  Deque d;
  d.push(d.a);
  spawn([&] {
    d.push(d.b);
    d.pool.unbind(d.worker);
  });
  spawn([&] {
    Worker& mine = d.pool.bind();
    while (Task* const task = mine.pop()) run(*task);
  });
  d.end(2);
}
void somebody_counts() {
  Deque d;
  spawn([&] {
    d.push(d.a);
    d.get(d.a);
    d.push(d.b);
  });
  spawn([&] { require(d.worker.count_pending() <= 1, "no more than there were at once"); });
  require(settle() == 0, "all have ended");
  require(d.worker.count_pending() == 1, "one is left");
}

// The lock as it is written, with the loop in which a thread waits for it.
void a_lock_excludes(int threads, int times) {
  struct {
    tmk::detail::SpinLock lock;
    int inside = 0;
  } s;
  let_locks_spin();
  for (int i = 0; i < threads; ++i) {
    spawn([&] {
      for (int j = 0; j < times; ++j) {
        const std::lock_guard guard(s.lock);
        ++s.inside;
      }
    });
  }
  require(settle() == 0, "all have ended");
  require(s.inside == threads * times, "one after the other");
}

// ---- the state word ----

struct Waiting {
  Pool& pool = busy_pool();
  int ran = 0;
  Job job{1, ran};
  Waiting() { job.index = Task::claimed; }
  void wait() {
    current_worker = &pool.bind();
    tmk::detail::block_until(job);
    require(ran == 1, "it has run");
    ::new (&job) Job(0, ran);
  }
};
void a_waiter_sleeps_until_it_is_ready() {
  Waiting w;
  spawn([&] { run(w.job); });
  spawn([&] { w.wait(); });
  require(settle() == 0, "nobody sleeps for ever");
}
void all_waiters_are_woken() {
  Waiting w;
  const auto wait = [&] {
    current_worker = &w.pool.bind();
    tmk::detail::block_until(w.job);
    require(w.ran == 1, "it has run");
  };
  spawn([&] { run(w.job); });
  spawn(wait);
  spawn(wait);
  require(settle() == 0, "nobody sleeps for ever");
}

struct Resumption : Task {
  explicit Resumption(Job& job_) : job(&job_) { operations = &kOperations; }
  static void run(Task& task) {
    auto& self = static_cast<Resumption&>(task);
    require(*self.job->ran == 1, "the outcome is there");
    ++self.resumed;
    ::new (self.job) Job(0, *self.job->ran);  // the coroutine lets go of the future
  }
  static void destroy(Task& /*task*/) noexcept {}
  static constexpr tmk::detail::Operations kOperations{&run, &destroy};
  Job* job;
  int resumed = 0;
};
// When the waiter's task runs, the earlier writes of the waiter and of the runner are there; or the
// waiter goes on, and its task does not run.
void a_coroutine_waits() {
  Waiting w;
  Resumption* resumption = nullptr;
  spawn([&] { run(w.job); });
  spawn([&] {
    resumption = new Resumption(w.job);
    if (!w.job.await(*resumption)) resumption->run(*resumption);
  });
  require(settle() == 0, "all have ended");
  require(resumption->resumed == 1, "once");
}

// ---- futures, and the memory of their states ----

struct User {
  Pool& pool = busy_pool();
  User() { enter(); }
  void enter() { current_worker = &pool.bind(); }
  // Helps once, as a thread of the pool without work does.
  void help() {
    enter();
    std::uint32_t start = 0;
    if (Task* const task = pool.find(*current_worker, start).task) run(*task);
  }
};

void a_call_is_stolen_or_not() {
  User u;
  Worker& owner = *current_worker;
  int value = 0;
  tmk::future<int> f = tmk::async([&] { return ++value; });
  spawn([&] {
    current_worker = &owner;
    require(f.get() == 1, "the value");
    // This task gets the same memory.
    require(tmk::async([&] { return ++value; }).get() == 2, "the next value");
  });
  spawn([&] { u.help(); });
  require(settle() == 0, "all have ended");
}
void a_thief_of_a_call_hears() {
  let_thieves_hear();
  a_call_is_stolen_or_not();
}
void the_last_of_two_references_frees() {
  User u;
  Worker& owner = *current_worker;
  auto* const f = new tmk::shared_future<int>(tmk::async([] { return 1; }).share());
  auto* const g = new tmk::shared_future<int>(*f);
  const auto use = [](tmk::shared_future<int>& future) {
    require(future.get() == 1, "the value");
    future = {};
  };
  spawn([=, &owner] {
    current_worker = &owner;
    use(*f);
    require(tmk::async([] { return 2; }).get() == 2, "the value");  // in that memory if it is free
  });
  spawn([=, &u] {
    u.enter();
    use(*g);
  });
  require(settle() == 0, "all have ended");
}
void a_promise_is_kept() {
  User u;
  auto* const promise = new tmk::promise<int>;
  auto* const future = new tmk::future<int>(promise->get_future());
  spawn([=] {
    promise->set_value(1);
    *promise = {};
  });
  spawn([&u, future] {
    u.enter();
    require(future->get() == 1, "the value");
  });
  require(settle() == 0, "all have ended");
}
void blocks_come_back() {
  User u;
  Worker& owner = *current_worker;
  Task* given[3];
  for (Task*& each : given) {
    each = owner.blocks.allocate(0);
    each->deque = &owner;
  }
  const auto give_back = [&](Task* block) {
    block->deque = nullptr;  // the last use
    owner.blocks.give_back(*block, 0);
  };
  spawn([&] { give_back(given[0]); });
  spawn([&] { give_back(given[1]); });
  spawn([&] {
    for (int i = 0; i < 2; ++i) owner.blocks.allocate(0)->deque = &owner;
  });
  require(settle() == 0, "all have ended");
}
// Of the three blocks of a slab, the owner takes the free ones while another thread gives
// the rest back, and a third thread looks whether all are free.
void a_surplus_is_given_back(int in_use) {
  tmk::detail::Surplus& surplus = *new tmk::detail::Surplus;
  Worker& owner = surplus.home_;  // the owner only has to stay
  Task* given[3];
  Task* list = surplus.take(0);
  for (Task*& each : given) {
    each = list;
    list = tmk::detail::next_free(*each);
  }
  require(list == nullptr, "three blocks");
  for (Task* each : given) each->deque = &owner;
  const auto give_back = [&](Task* block) {
    require(block->deque == &owner, "it is as its user left it");
    block->deque = nullptr;  // the last use
    tmk::detail::home_of(*block).blocks.give_back(*block, 0);
  };
  for (int i = in_use; i < 3; ++i) give_back(given[i]);
  Task* taken[2] = {};
  spawn([&] {
    for (int i = 0; i < in_use; ++i) give_back(given[i]);
  });
  spawn([&] { surplus.give_pages_back(); });
  spawn([&] {
    for (Task*& each : taken) (each = surplus.take(0))->deque = &owner;
    // The blocks that came with the first go back in the owner's way.
    while (Task* const rest = tmk::detail::next_free(*taken[0])) {
      tmk::detail::link_free(*taken[0], tmk::detail::next_free(*rest));
      rest->deque = nullptr;
      surplus.keep(*rest, 0);
    }
  });
  require(settle() == 0, "all have ended");
  require(taken[0] != taken[1], "each is taken once");
  for (Task* each : taken) {
    require(each->deque == &owner, "what is in use stays");
    while (each != nullptr) {
      Task* const next = tmk::detail::next_free(*each);
      each->deque = &owner;
      give_back(std::exchange(each, next));
    }
  }
  for (Task* each = surplus.kept_[0].first; each != nullptr;) {
    Task* const next = tmk::detail::next_free(*each);
    each->deque = &owner;
    give_back(std::exchange(each, next));
  }
  surplus.give_pages_back();
  require(!surplus.has_pages(), "all are free");
}
// Forks twice, in the same place of the stack.
void a_branch_lies_on_the_stack() {
  User u;
  Worker& owner = *current_worker;
  spawn([&] {
    current_worker = &owner;
    for (int i = 0; i < 2; ++i) {
      const auto [one, two] = tmk::fork_join([] { return 1; }, [] { return 2; });
      require(one == 1 && two == 2, "the values");
    }
  });
  spawn([&] { u.help(); });
  require(settle() == 0, "all have ended");
}
void a_scope_gets_tasks_of_its_tasks() {
  User u;
  Worker& owner = *current_worker;
  int value = 0;
  spawn([&] {
    current_worker = &owner;
    tmk::task_scope scope;
    scope.run([&] { scope.run([&] { ++value; }); });
    scope.wait();
    require(value == 1, "all have run");
  });
  spawn([&] { u.help(); });
  require(settle() == 0, "all have ended");
}

void a_scope_gets_tasks_of_others() {
  User u;
  Worker& owner = *current_worker;
  auto* const scope = new tmk::task_scope;
  std::atomic<bool> done{false};
  spawn([&, scope] {
    current_worker = &owner;
    while (!done.load(std::memory_order_relaxed)) {
      scope->wait();
      yield();
    }
  });
  spawn([&, scope] {
    u.enter();
    scope->run([&] { done.store(true, std::memory_order_relaxed); });
  });
  require(settle() == 0, "all have ended");
}

// The waiter takes over the task that the owner starts at the same time.
void a_scope_is_waited_for_by_another_thread() {
  User u;
  Worker& owner = *current_worker;
  auto* const scope = new tmk::task_scope;
  std::atomic<bool> done{false};
  spawn([&, scope] {
    current_worker = &owner;
    scope->run([&] { done.store(true, std::memory_order_relaxed); });
  });
  spawn([&, scope] {
    u.enter();
    while (!done.load(std::memory_order_relaxed)) {
      scope->wait();
      yield();
    }
  });
  require(settle() == 0, "all have ended");
}

// ---- sleeping ----

// A pool whose watchdog is away. `running` threads run; the caller is not counted.
struct Sleeping {
  Pool& pool;
  Worker& worker;
  int ran[2] = {};
  Job a{1, ran[0]}, b{2, ran[1]};

  Sleeping(unsigned threads, unsigned running) : pool(*new Pool(threads)), worker(pool.bind()) {
    pool.watched_ = true;
    pool.activity_ = kArmed + running;
    worker.counted = true;
  }
  // The pool counts its thread already.
  void start_thread() {
    spawn([this] { pool.thread_main(); });
  }
};
// The pusher then computes for ever, so no other thread will run the task.
void a_push_meets_a_thread_that_goes_to_sleep() {
  Sleeping s(2, 2);
  s.start_thread();
  spawn([&] { s.worker.push(s.a); });
  static_cast<void>(settle());  // one thread or more of the pool sleep now
  require(s.ran[0] == 1, "it has run");
}
// The pusher finds head and split above its bottom: a thief has looked at an earlier bottom.
void a_push_is_slow_and_meets_a_thread_that_goes_to_sleep() {
  Sleeping s(2, 2);
  s.worker.push(s.a);
  require(s.worker.take(s.a), "nobody else is there");
  s.worker.split = 1;
  s.worker.open = std::min<std::size_t>(s.worker.open, 1);
  s.worker.head = 1;
  s.start_thread();
  spawn([&] { s.worker.push(s.b); });
  static_cast<void>(settle());
  require(s.ran[1] == 1, "it has run");
}
// The owner joins at a shared place, so it writes split while the other thread ceases to run.
void a_join_is_slow_and_meets_a_thread_that_goes_to_sleep() {
  Sleeping s(2, 2);
  s.worker.push(s.a);
  s.worker.share();
  s.start_thread();
  spawn([&] {
    const Claim found = s.worker.take_newest(s.a);
    if (found == Claim::taken || (found == Claim::shared && s.worker.take_newest_slowly(s.a)))
      run(s.a);
    s.worker.push(s.b);
  });
  static_cast<void>(settle());
  require(s.ran[0] == 1 && s.ran[1] == 1, "both have run");
}
// The thread had asked, so the push is slow.
void a_push_answers_a_thread_that_goes_to_sleep() {
  let_threads_ask();
  a_push_meets_a_thread_that_goes_to_sleep();
}
void a_push_wakes_a_thread() {
  Sleeping s(2, 2);
  s.start_thread();
  require(settle() == 1, "it sleeps");
  spawn([&] { s.worker.push(s.a); });
  spawn([&] {
    Worker& mine = s.pool.bind();
    mine.counted = true;
    mine.push(s.b);
  });
  static_cast<void>(settle());
  require(s.ran[0] == 1 && s.ran[1] == 1, "both have run");
}
void a_push_chooses_the_thread_that_it_wakes() {
  let_wakers_choose();
  a_push_meets_a_thread_that_goes_to_sleep();
}
// A thread of the pool sleeps, a counted thread blocks, and another one pushes at that moment.
void a_push_meets_a_thread_that_blocks() {
  Sleeping s(2, 2);
  s.start_thread();
  require(settle() == 1, "it sleeps");
  s.pool.activity_.fetch_add(1);
  Job other(1, s.ran[1]);
  other.index = Task::claimed;
  spawn([&] { s.worker.push(s.a); });
  bool goes_on = false;
  spawn([&] {
    current_worker = &s.pool.bind();
    current_worker->counted = true;
    tmk::detail::block_until(other);
    goes_on = true;
  });
  static_cast<void>(settle());
  require(s.ran[0] == 1 && !goes_on, "it has run, while the other is blocked");
  run(other);
  static_cast<void>(settle());
  require(goes_on, "the other is ready");
}
// The watchdog stops its ticks only if nothing is pending.
void a_push_meets_the_watchdog() {
  Sleeping s(1, 1);
  s.pool.alarm_ = 1;
  allow_timeouts(2);
  spawn([&] { s.pool.watchdog_main(); });
  spawn([&] { s.worker.push(s.a); });
  require(settle() == 1, "the watchdog sleeps");
  require((s.pool.activity_.load() & kArmed) != 0, "it ticks");
}

// ---- the mutex ----

void a_mutex_excludes(int threads, int times, unsigned timeouts) {
  struct {
    tmk::mutex mutex;
    int inside = 0;
  } s;
  allow_timeouts(timeouts);
  for (int i = 0; i < threads; ++i) {
    spawn([&] {
      for (int j = 0; j < times; ++j) {
        s.mutex.lock();
        ++s.inside;
        s.mutex.unlock();
      }
    });
  }
  require(settle() == 0, "nobody sleeps for ever");
  require(s.inside == threads * times, "one after the other");
}
void two_mutexes() {
  struct {
    tmk::mutex a, b;
    int inside = 0;
  } s;
  spawn([&] {
    tmk::lock(s.a, s.b);
    ++s.inside;
    s.a.unlock();
    s.b.unlock();
  });
  spawn([&] {
    tmk::lock(s.b, s.a);
    ++s.inside;
    s.b.unlock();
    s.a.unlock();
  });
  require(settle() == 0, "nobody sleeps for ever");
  require(s.inside == 2, "one after the other");
}

}  // namespace

std::vector<Scenario> scenarios() {
  Pool::registry();  // not in the memory of an execution
  keep_per_thread(reinterpret_cast<void**>(&current_worker));
  keep_per_thread(reinterpret_cast<void**>(&tmk::detail::exit_actions));
  return {
      {"the owner takes the newest first", owner_takes_newest_first},
      {"the owner takes the oldest first", owner_takes_oldest_first, 3},
      {"siblings are taken from both ends", siblings_are_taken_from_both_ends, 2},
      {"siblings have children", siblings_have_children, 2},
      {"the owner pushes while a thief looks", owner_pushes_while_a_thief_looks, 3},
      {"a place is used again", a_place_is_used_again, 3},
      {"a place is used again and left", a_place_is_used_again_and_left, 3},
      {"two thieves", two_thieves},
      {"a waiter revokes", a_waiter_revokes},
      {"a waiter revokes the newest", a_waiter_revokes_the_newest},
      {"a shared task is revoked", a_shared_task_is_revoked},
      {"a waiter and a thief", a_waiter_and_a_thief, 2},
      {"a future is given away", a_future_is_given_away},
      {"the owner pops", pop_against_thief},
      {"the entries grow", entries_grow},
      {"the entries go round", entries_go_round, 3},
      {"the entries move together", entries_move_together, 2},
      {"the entries move under a waiter", entries_move_under_a_waiter, 2},
      {"a thief takes the oldest", a_thief_takes_the_oldest, 2},
      {"a thief takes the oldest beside a fence", a_thief_takes_the_oldest_beside_a_fence, 1},
      {"the owner takes the oldest", the_owner_takes_the_oldest, 2},
      {"all is shared", all_is_shared, 3},
      {"the owner joins what a thief wants", owner_joins_what_a_thief_wants, 2},
      {"the owner joins the oldest task", owner_joins_the_oldest_task, 2},
      {"a thief asks", a_thief_asks, 2},
      {"a waiter helps", a_waiter_helps, 3},
      {"a waiter helps beside a thief", a_waiter_helps_beside_a_thief, 2},
      {"a thief leaves the first", a_thief_leaves_the_first, 2},
      {"a worker gets another owner", a_worker_gets_another_owner},
      {"somebody counts", somebody_counts},
      {"the lock of a worker excludes two threads", [] { a_lock_excludes(2, 2); }},
      {"the lock of a worker excludes three threads", [] { a_lock_excludes(3, 1); }},
      {"a waiter sleeps until it is ready", a_waiter_sleeps_until_it_is_ready},
      {"all waiters are woken", all_waiters_are_woken},
      {"a coroutine waits", a_coroutine_waits},
      {"a call is stolen or not", a_call_is_stolen_or_not},
      {"a call is stolen or not, and the thief hears", a_thief_of_a_call_hears, 2},
      {"the last of two references frees", the_last_of_two_references_frees},
      {"a promise is kept", a_promise_is_kept},
      {"blocks come back", blocks_come_back},
      {"a surplus is given back while one block is in use", [] { a_surplus_is_given_back(1); }},
      {"a surplus is given back while two blocks are in use", [] { a_surplus_is_given_back(2); }},
      {"a branch lies on the stack", a_branch_lies_on_the_stack, 3},
      {"a scope gets tasks of its tasks", a_scope_gets_tasks_of_its_tasks, 3},
      {"a scope gets tasks of others", a_scope_gets_tasks_of_others},
      {"a scope is waited for by another thread", a_scope_is_waited_for_by_another_thread},
      {"a push meets a thread that goes to sleep", a_push_meets_a_thread_that_goes_to_sleep, 3},
      {"a push is slow and meets a thread that goes to sleep",
       a_push_is_slow_and_meets_a_thread_that_goes_to_sleep, 3},
      {"a join is slow and meets a thread that goes to sleep",
       a_join_is_slow_and_meets_a_thread_that_goes_to_sleep, 2},
      {"a push answers a thread that goes to sleep", a_push_answers_a_thread_that_goes_to_sleep, 2},
      {"a push wakes a thread", a_push_wakes_a_thread, 2},
      {"a push chooses the thread that it wakes", a_push_chooses_the_thread_that_it_wakes, 3},
      {"a push meets a thread that blocks", a_push_meets_a_thread_that_blocks, 3},
      {"a push meets the watchdog", a_push_meets_the_watchdog},
      {"a mutex of two threads", [] { a_mutex_excludes(2, 2, 0); }},
      {"a mutex of three threads", [] { a_mutex_excludes(3, 1, 0); }, 3},
      {"a mutex whose waiters lose their patience", [] { a_mutex_excludes(2, 1, 1); }},
      {"two mutexes", two_mutexes, 2},
  };
}

}  // namespace model
