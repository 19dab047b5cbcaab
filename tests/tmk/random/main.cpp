// Runs one random program with the futures of std or tmk and compares its answer with the one from
// evaluate.hpp: random_programs.tmk --seed N [--size N] [--print]. TMK_NUM_THREADS as usual.
// Exit status 3: a check failed, and stdout names it. drive.py ends a program that hangs.
#include <pthread.h>
#include <sys/time.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <string>

#include "alone.hpp"
#include "generate.hpp"

namespace random_programs {
namespace {

struct Failure {
  std::uint64_t code;
};

// The result of a body: its value, and the futures that come with it.
struct Handle;
struct Result {
  explicit Result(std::uint64_t number);
  Result(std::uint64_t number, std::vector<Handle> with);
  Result(Result&& other) noexcept;
  ~Result();
  std::uint64_t value;
  std::vector<Handle> carried;
};
using Future = subject::future<Result>;
struct Handle {
  Id slot = 0;
  Future one{};
  subject::shared_future<Result> shared{};
  subject::future<std::vector<Future>> all{};
};
Result::Result(std::uint64_t number) : value(number) {}
Result::Result(std::uint64_t number, std::vector<Handle> with)
    : value(number), carried(std::move(with)) {}
Result::Result(Result&& other) noexcept = default;
Result::~Result() = default;

// Calls `body` with the future of a handle, of any kind.
template <class F>
auto with_future(Handle& handle, const F& body) {
  if (handle.one.valid()) return body(handle.one);
  if (handle.shared.valid()) return body(handle.shared);
  require(handle.all.valid(), "a future has no state");
  return body(handle.all);
}
// The value of a call, or the number for its exception; see seen().
template <class F>
std::uint64_t seen_of(const F& call) {
  try {
    return call();
  } catch (const Failure& failure) {
    return seen({.value = failure.code, .threw = true});
  } catch (const std::future_error& error) {
    require(error.code() == std::future_errc::broken_promise, error.what());
    return seen(outcome_of_promise(0, 2));
  }
}
std::uint64_t fetch(Handle& handle, std::vector<Handle>* carried) {
  return seen_of([&]() -> std::uint64_t {
    if (handle.shared.valid()) return handle.shared.get().value;
    if (handle.all.valid()) {
      std::uint64_t value = 0;
      for (Future& each : handle.all.get()) {
        value = mix(value, seen_of([&] { return each.get().value; }));
      }
      return value;
    }
    Result result = handle.one.get();
    require(carried != nullptr || result.carried.empty(), "futures came that nobody sent");
    for (Handle& each : result.carried) carried->push_back(std::move(each));
    return result.value;
  });
}

// A thread of std or, if it has a size of stack, of POSIX.
class Thread {
 public:
  Thread(Id stack_kib, std::function<void()> body) : body_(std::move(body)) {
    if (stack_kib == 0) {
      standard_ = std::thread(body_);
      return;
    }
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (support::sanitized) stack_kib += 1024;
    pthread_attr_setstacksize(&attributes, std::size_t{stack_kib} << 10);
    const int error = pthread_create(&posix_, &attributes, &Thread::main, this);
    require(error == 0, "no thread");
    pthread_attr_destroy(&attributes);
  }
  void join() {
    if (standard_.joinable()) return standard_.join();
    pthread_join(posix_, nullptr);
  }

 private:
  static void* main(void* self) {
    static_cast<Thread*>(self)->body_();
    return nullptr;
  }
  std::function<void()> body_;
  std::thread standard_;
  pthread_t posix_{};
};

struct Target {
  pthread_t thread{};
  std::atomic<bool> published = false, killed = false;
};
struct Guarded {
  std::mutex standard;
  subject::mutex own;
  std::uint64_t locked = 0;
};
// A mutex of std or of the subject, by its rank.
class Lock {
 public:
  Lock(Guarded& guarded, Id rank) : guarded_(guarded), standard_(rank % 2 == 0) {}
  void lock() { standard_ ? guarded_.standard.lock() : guarded_.own.lock(); }
  bool try_lock() { return standard_ ? guarded_.standard.try_lock() : guarded_.own.try_lock(); }
  void unlock() { standard_ ? guarded_.standard.unlock() : guarded_.own.unlock(); }

 private:
  Guarded& guarded_;
  bool standard_;
};

// The state that the bodies of a program share. Never destroyed: threads of std may outlive main.
struct World {
  explicit World(Program given)
      : program(std::move(given)),
        ran(program.bodies.size()),
        flags(program.flags),
        promises(program.promises.size()),
        packaged(program.promises.size()),
        claims(program.promises.size()),
        boxes(program.boxes),
        boxed(program.boxes),
        threads(program.threads),
        results(program.bodies.size()),
        targets(program.targets),
        expected(Evaluation(program).body(0).value) {
    for (const Meeting& each : program.meetings) places.emplace_back(each);
    for (Id i = 0; i < promises.size(); ++i) {
      if (program.promises[i] == 3) {
        packaged[i] = subject::packaged_task<Result()>(
            [i] { return Result(outcome_of_promise(i, 0).value); });
        claims[i] = packaged[i].get_future();
      } else {
        claims[i] = promises[i].get_future();
      }
    }
    for (Id i = 0; i < boxes.size(); ++i) boxed[i] = boxes[i].get_future();
  }
  Program program;
  std::vector<std::atomic<Id>> ran;
  std::vector<std::atomic<bool>> flags;
  std::vector<subject::promise<Result>> promises;
  std::vector<subject::packaged_task<Result()>> packaged;
  std::vector<Future> claims;
  std::vector<subject::promise<Handle>> boxes;
  std::vector<subject::future<Handle>> boxed;
  std::vector<std::unique_ptr<Thread>> threads;
  std::vector<std::uint64_t> results;  // of threads and scopes
  std::vector<Target> targets;
  std::deque<Place> places;
  std::array<Guarded, kMutexes + 1> guarded;
  std::atomic<Id> kept = 0;
  std::uint64_t answer = 0, expected;
};
World* world = nullptr;

// A thread_local object that uses the library, or holds futures, in its destructor.
struct Keeper {
  struct Action {
    Id what;
    subject::future<std::uint64_t> fresh{};
    Handle held{};
  };
  Keeper() = default;
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;
  ~Keeper() {
    for (Action& each : actions) {
      if (each.what == kUse) require(fib(6, 0) == 8, "tasks of a thread_local's destructor");
      if (each.what == kGetFresh) require(each.fresh.get() == 8, "a future of a thread_local");
      if (each.what == kDropFresh) each.fresh = {};
      if (each.what == kGetHeld) fetch(each.held, nullptr);
      if (each.what == kDropHeld) each.held = {};
      if (each.what != kTouch) ++world->kept;
    }
  }
  std::vector<Action> actions;
};
template <Id I>
Keeper& keeper_numbered() {
  thread_local Keeper keeper;
  return keeper;
}
Keeper& keeper(Id number) {  // made when first asked for, and destroyed in the opposite order
  switch (number) {
    case 0:
      return keeper_numbered<0>();
    case 1:
      return keeper_numbered<1>();
    case 2:
      return keeper_numbered<2>();
    default:
      return keeper_numbered<3>();
  }
}

Result run(Id id, std::vector<Handle> given);

// One call of a body.
class Frame {
 public:
  explicit Frame(std::vector<Handle> given) : handles_(std::move(given)) {}

  std::uint64_t perform(const Step& step);
  std::vector<Handle> take_all(const std::vector<Id>& slots) {
    std::vector<Handle> taken;
    for (const Id slot : slots) taken.push_back(take(slot));
    return taken;
  }

 private:
  Handle& at(Id slot) {
    for (Handle& each : handles_) {
      if (each.slot == slot) return each;
    }
    fail("a future did not come where it was sent");
  }
  Handle take(Id slot) {
    Handle& found = at(slot);
    Handle taken = std::move(found);
    handles_.erase(handles_.begin() + (&found - handles_.data()));
    return taken;
  }
  void add(Id slot, Future future) { handles_.push_back({.slot = slot, .one = std::move(future)}); }
  void start(const Step& step);
  void start_thread(const Step& step);
  void start_packaged(const Step& step);
  void lock(const Step& step);
  void unlock();
  static std::uint64_t fork_join(const std::vector<Id>& bodies);
  static std::uint64_t scope(const Step& step);
  static std::uint64_t pool_run(const Step& step);
  static void set_promise(const Step& step);
  static bool wait(auto& future, Id how);
  static void peek(auto& future, Id how);

  std::vector<Handle> handles_;
  std::vector<std::vector<std::unique_lock<Lock>>> locks_;
  std::deque<Lock> lockables_;
};

Result run(Id id, std::vector<Handle> given) {
  require(world->ran[id]++ == 0, "a task ran twice");
  const Body& body = world->program.bodies[id];
  Frame frame(std::move(given));
  std::uint64_t value = number_of_body(id);
  for (const Step& step : body.steps) value = mix(value, frame.perform(step));
  if (body.throws) throw Failure{value};
  return {value, frame.take_all(body.carries)};
}
std::uint64_t value_of(Id body) { return run(body, {}).value; }

void Frame::start(const Step& step) {
  auto call = [id = step.a, given = take_all(step.list)]() mutable {
    return run(id, std::move(given));
  };
  using subject::launch;
  switch (step.b) {
    case kAsync:
      return add(step.c, subject::async(launch::async, std::move(call)));
    case kDeferred:
      return add(step.c, subject::async(launch::deferred, std::move(call)));
    case kThread:
      return add(step.c, subject::async(subject::kOwnThread, std::move(call)));
    default:
      return add(step.c, subject::async(std::move(call)));
  }
}
void Frame::start_thread(const Step& step) {
  auto given = std::make_shared<std::vector<Handle>>(take_all(step.list));
  world->threads[step.c] = std::make_unique<Thread>(step.b, [id = step.a, given] {
    world->results[id] = seen_of([&] { return run(id, std::move(*given)).value; });
  });
}
void Frame::start_packaged(const Step& step) {
  subject::packaged_task<Result()> task([id = step.a] { return run(id, {}); });
  add(step.c, task.get_future());
  if (step.b == 0) return task();
  if (step.b == 1) {
    return add(step.list[0], subject::async([task = std::move(task)]() mutable {
                 task();
                 return Result(0);
               }));
  }
  auto shared = std::make_shared<subject::packaged_task<Result()>>(std::move(task));
  world->threads[step.list[0]] = std::make_unique<Thread>(0, [shared] { (*shared)(); });
}

void Frame::lock(const Step& step) {
  std::vector<std::unique_lock<Lock>> locks;
  for (const Id rank : {step.a, step.b}) {
    if (step.op == Op::lock && !locks.empty()) break;
    lockables_.emplace_back(world->guarded[rank], rank);
    locks.emplace_back(lockables_.back(), std::defer_lock);
  }
  if (step.op == Op::lock) {
    locks[0].lock();
  } else {
    subject::lock(locks[0], locks[1]);
  }
  ++world->guarded[step.a].locked;
  if (step.op == Op::lock_two) ++world->guarded[step.b].locked;
  locks_.push_back(std::move(locks));
}
void Frame::unlock() { locks_.pop_back(); }

std::uint64_t Frame::fork_join(const std::vector<Id>& bodies) {
  const auto call = [&](std::size_t i) { return [id = bodies[i]] { return value_of(id); }; };
  const auto fold = [](const auto&... each) {
    std::uint64_t value = 0;
    ((value = mix(value, each)), ...);
    return value;
  };
  return seen_of([&] {
    if (bodies.size() == 2) return std::apply(fold, subject::fork_join(call(0), call(1)));
    if (bodies.size() == 3) return std::apply(fold, subject::fork_join(call(0), call(1), call(2)));
    return std::apply(fold, subject::fork_join(call(0), call(1), call(2), call(3)));
  });
}
std::uint64_t Frame::scope(const Step& step) {
  subject::task_scope scope;
  const auto& bodies = step.list;
  std::function<void(std::size_t)> spawn = [&](std::size_t i) {
    if (i == bodies.size()) return;
    scope.run([&, i] {
      if (step.b == 1) spawn(i + 1);
      world->results[bodies[i]] = value_of(bodies[i]);
    });
    if (step.b == 0) spawn(i + 1);
  };
  spawn(1);
  world->results[bodies[0]] = value_of(bodies[0]);
  scope.wait();
  std::uint64_t value = 0;
  for (const Id each : bodies) value = mix(value, world->results[each]);
  return value;
}
std::uint64_t Frame::pool_run(const Step& step) {
  return seen_of([&] {
    subject::pool pool(step.b);
    return pool.run([&] {
      if (step.c != 0) return value_of(step.a);
      return subject::async([&] { return pool.run([&] { return value_of(step.a); }); }).get();
    });
  });
}

void Frame::set_promise(const Step& step) {
  auto& promise = world->promises[step.a];
  const Outcome outcome = outcome_of_promise(step.a, step.b);
  if (step.b == 0) promise.set_value(Result(outcome.value));
  if (step.b == 1) promise.set_exception(std::make_exception_ptr(Failure{outcome.value}));
  if (step.b == 2) subject::promise<Result>().swap(promise);
  if (step.b == 3) world->packaged[step.a]();
}
bool Frame::wait(auto& future, Id how) {
  constexpr std::chrono::hours hour(1);
  using std::future_status;
  if (how == 1) return future.wait_for(hour) == future_status::ready;
  if (how == 2) return future.wait_until(Clock::now() + hour) == future_status::ready;
  if (how == 3) {
    return future.wait_until(std::chrono::system_clock::now() + hour) == future_status::ready;
  }
  future.wait();
  return true;
}
void Frame::peek(auto& future, Id how) {
  if (how == 0) future.wait_for(std::chrono::seconds(0));
  if (how == 1) future.wait_for(std::chrono::microseconds(50));
  if (how == 2) future.wait_until(Clock::now() - std::chrono::seconds(1));
}

// The value of a step that needs no other step, after a comparison with the known value.
std::uint64_t checked(const Step& step, std::uint64_t value) {
  if (value == own_value(step)) return value;
  const std::string name = kOpNames[static_cast<std::size_t>(step.op)];
  fail((name + " " + std::to_string(step.a) + " gave " + std::to_string(value)).c_str());
}

// Interprets a step; see RANDOM_PROGRAMS_OPS.
std::uint64_t Frame::perform(const Step& step) {
  World& all = *world;
  switch (step.op) {
    case Op::async:
      start(step);
      break;
    case Op::thread:
      start_thread(step);
      break;
    case Op::join:
      all.threads[step.a]->join();
      return step.b == kNoBody ? 1 : all.results[step.b];
    case Op::get: {
      if (at(step.a).shared.valid()) return fetch(at(step.a), nullptr);
      Handle handle = take(step.a);
      return fetch(handle, &handles_);
    }
    case Op::wait:
      require(with_future(at(step.a), [&](auto& f) { return wait(f, step.b); }), "a timed wait");
      break;
    case Op::poll:
      with_future(at(step.a), [&](auto& future) {
        pause_until(step.b, [&] {
          return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
        });
      });
      break;
    case Op::peek:
      with_future(at(step.a), [&](auto& future) { peek(future, step.b); });
      break;
    case Op::share: {
      Handle handle = take(step.a);
      handles_.push_back({.slot = step.b, .shared = handle.one.share()});
      break;
    }
    case Op::copy: {
      auto shared = at(step.a).shared;
      handles_.push_back({.slot = step.b, .shared = std::move(shared)});
      break;
    }
    case Op::drop:
      take(step.a);
      break;
    case Op::set_flag:
      all.flags[step.a] = true;
      break;
    case Op::wait_flag:
      pause_until(step.b, [&] { return all.flags[step.a].load(); });
      break;
    case Op::lock:
    case Op::lock_two:
      lock(step);
      break;
    case Op::unlock:
      unlock();
      break;
    case Op::meet:
      all.places[step.a].arrive_and_wait();
      break;
    case Op::set_promise:
      set_promise(step);
      break;
    case Op::set_at_exit:
      all.promises[step.a].set_value_at_thread_exit(
          Result(outcome_of_promise(step.a, kAtExit).value));
      break;
    case Op::claim:
      add(step.b, std::move(all.claims[step.a]));
      break;
    case Op::put:
      all.boxes[step.b].set_value(take(step.a));
      break;
    case Op::take:
      handles_.push_back(all.boxed[step.a].get());
      break;
    case Op::when_all: {
      std::vector<Future> parts;
      for (const Id part : step.list) parts.push_back(take(part).one);
      handles_.push_back({.slot = step.a, .all = subject::when_all(parts.begin(), parts.end())});
      break;
    }
    case Op::packaged:
      start_packaged(step);
      break;
    case Op::fork_join:
      return fork_join(step.list);
    case Op::scope:
      return scope(step);
    case Op::pool_run:
      return pool_run(step);
    case Op::keep: {
      Keeper::Action action{.what = step.b};
      if (step.b == kGetFresh || step.b == kDropFresh) action.fresh = subject::async(fib, 6u, 0u);
      if (step.b >= kGetHeld) action.held = take(step.c);
      keeper(step.a).actions.push_back(std::move(action));
      break;
    }
    case Op::fib:
      return checked(step, fib(step.a, step.b));
    case Op::crowd:
      return checked(step, crowd(step.a, step.b, step.c));
    case Op::window:
      return checked(step, windows(step.a, step.b));
    case Op::storm:
      return checked(step, storm(step.a, step.b));
    case Op::fork:
      return checked(step, fork_and(step.a));
    case Op::exec:
      return checked(step, execute(step.a));
    case Op::raise:
      raise_here(step.a);
      break;
    case Op::kill:
      ::kill(getpid(), process_signal());
      break;
    case Op::publish:
      all.targets[step.a].thread = pthread_self();
      all.targets[step.a].published = true;
      break;
    case Op::kill_thread: {
      Target& target = all.targets[step.a];
      pause_until(kYield, [&] { return target.published.load(); });
      pthread_kill(target.thread, thread_signal());
      target.killed = true;
      break;
    }
    case Op::await_kill: {
      thread_local Id awaited = 0;
      pause_until(step.b, [&] { return all.targets[step.a].killed.load(); });
      pause_until(kNap100us, [&] { return killed_here > awaited; });  // it may come late
      if (!support::thread_sanitizer) ++awaited;
      break;
    }
    case Op::stack:
      above(step.a, [] { return 0u; });
      break;
    case Op::recurse:
      return checked(step, subject::async(subject::launch::async, recurse, step.a, step.b).get());
    case Op::busy:
      busy(step.a);
      break;
    case Op::nap:
      std::this_thread::sleep_for(std::chrono::microseconds(step.a));
      break;
  }
  return 1;
}

// Runs last, after the thread_locals of main.
struct Report {
  Report() = default;
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;
  ~Report() {
    if (world == nullptr) return;
    const Program& program = world->program;
    pause_until(kNap1ms, [&] { return world->kept >= program.keeps; });
    require(world->kept == program.keeps, "a thread_local ended twice");
    // ThreadSanitizer merges equal signals that are pending for a thread.
    const Id kills = support::thread_sanitizer ? std::min(program.kills, Id{1}) : program.kills;
    pause_until(kNap1ms, [&] { return kills_handled >= kills; });
    require(kills_handled <= program.kills, "a signal came twice");
    std::array<std::uint64_t, kMutexes + 1> locked{};
    for (Id i = 0; i < program.bodies.size(); ++i) {
      if (program.bodies[i].optional && world->ran[i] == 0) continue;
      require(world->ran[i] == 1, "a task has not run");
      for (const Step& step : program.bodies[i].steps) {
        if (step.op == Op::lock || step.op == Op::lock_two) ++locked[step.a];
        if (step.op == Op::lock_two) ++locked[step.b];
      }
    }
    for (Id i = 0; i <= kMutexes; ++i) {
      require(locked[i] == world->guarded[i].locked, "two held a mutex at once");
    }
    const bool right = world->answer == world->expected;
    std::printf("%s answer %llx expected %llx size %u\n",
                right ? "right:" : "wrong:", static_cast<unsigned long long>(world->answer),
                static_cast<unsigned long long>(world->expected), program.size);
    std::fflush(stdout);
    if (!right) _exit(3);
  }
} report;

}  // namespace
}  // namespace random_programs

int main(int count, char** words) {
  using namespace random_programs;
  std::uint64_t seed = 0;
  Id size = 0;
  bool printed = false;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--print") {
      printed = true;
    } else if (word == "--seed" && i + 1 < count) {
      seed = std::strtoull(words[++i], nullptr, 10);
    } else if (word == "--size" && i + 1 < count) {
      size = static_cast<Id>(std::strtoul(words[++i], nullptr, 10));
    } else {
      std::fprintf(stderr, "usage: random_programs.%s --seed N [--size N] [--print]\n",
                   subject::kName);
      return 2;
    }
  }
  Options options;
  if (support::thread_sanitizer) options.forked_tasks = false;
  if (support::sanitized) options.largest_crowd = 100;
  Program program = Generator(seed, size, options).make();
  if (printed) {
    random_programs::print(program);
    return 0;
  }
  handle_signals(program.timer);
  world = new World(std::move(program));
  world->answer = value_of(0);
  return 0;
}
