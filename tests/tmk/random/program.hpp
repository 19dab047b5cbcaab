// A random program as data: bodies of steps. generate.hpp makes it from a seed, evaluate.hpp gives
// its answer, main.cpp interprets it with the futures of std or tmk.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

namespace random_programs {

using Id = std::uint32_t;

// Documented deviations of tmk (docs/runtime.md), limits of std and of tools. A generated program
// has none of these.
struct Excluded {
  const char* name;
  const char* how;
};
inline constexpr Excluded kExcluded[] = {
    {"thread_local variables fresh for each task",
     "step `keep` comes in foreign threads, in main and in tasks of launch::thread alone"},
    {"thread identity of a task", "no step compares identities"},
    {"pthread_exit or cancellation in a task", "there is no such step"},
    {"floating-point environment, signal mask, locale or affinity set by a task",
     "there is no such step"},
    {"*_at_thread_exit in a task comes at the end of the task",
     "step `set_at_exit` counts as done at the end of its thread, which is never earlier"},
    {"*_at_thread_exit in a thread that std did not make",
     "libc++ crashes there; step `set_at_exit` does not come in one"},
    {"an invalid future", "a future is used as long as it is valid"},
    {"async refuses", "a program has too few threads to be refused one"},
    {"a future of the parent in a forked child", "a child uses futures of its own alone"},
    {"~pool waits for all tasks of its pool",
     "what was made inside pool::run ends before the pool, and is all that is fetched inside"},
    {"a future held by the callable of a task", "a body moves what it was given out of its call"},
    {"fork with tasks under ThreadSanitizer", "such a child only ends: it may start no threads"},
};

// The operations of steps, with their operands a, b, c and list.
#define RANDOM_PROGRAMS_OPS(X)                                                                     \
  X(async)       /* body a by policy b; its future is slot c; list: slots that are moved to it */  \
  X(thread)      /* body a on a thread: b KiB of stack, or 0: std::thread; it is thread c; list */ \
  X(join)        /* thread a, that ran body b, or a packaged_task: kNoBody */                      \
  X(get)         /* slot a */                                                                      \
  X(wait)        /* for slot a; b: wait, wait_for an hour, wait_until of two clocks */             \
  X(poll)        /* wait_for(0) for slot a until it is ready, pausing as b says */                 \
  X(peek)        /* one short timed wait for slot a */                                             \
  X(share)       /* slot a becomes the shared slot b */                                            \
  X(copy)        /* slot b is a copy of the shared slot a */                                       \
  X(drop)        /* slot a */                                                                      \
  X(set_flag)    /* a */                                                                           \
  X(wait_flag)   /* until flag a is set, pausing as b says */                                      \
  X(lock)        /* mutex a */                                                                     \
  X(lock_two)    /* mutexes a and b, by lock(x, y) */                                              \
  X(unlock)      /* the mutex locked last, or both */                                              \
  X(meet)        /* at meeting a */                                                                \
  X(set_promise) /* a; b: value, exception, broken, by packaged_task */                            \
  X(set_at_exit) /* promise a */                                                                   \
  X(claim)       /* the future of promise a is slot b */                                           \
  X(put)         /* slot a is sent through the promise<future> of box b */                         \
  X(take)        /* slot b from box a */                                                           \
  X(when_all)    /* slot a is when_all of the slots in list */                                     \
  X(packaged)    /* body a in a packaged_task whose future is slot c; b: run here, in a task       \
                    (its slot is list[0]), in a thread (list[0]) */                                \
  X(fork_join)   /* of the bodies in list, the first of them here */                               \
  X(scope)       /* list[0] here and the others in a task_scope; b: each runs the next one */      \
  X(pool_run)    /* body a in a pool of b threads; c: by a task of the pool that runs it again */  \
  X(keep)        /* thread_local a, whose destructor does b, with slot c */                        \
  X(fib)         /* of a; b: by async, fork_join, task_scope */                                    \
  X(crowd)       /* a tasks meet in way b; c: the order of fetching */                             \
  X(window)      /* b windows of a small tasks each, until a task pending before has run */        \
  X(storm)       /* a tasks add under two of b mutexes */                                          \
  X(fork)        /* a child that does a */                                                         \
  X(exec)        /* a command: a */                                                                \
  X(raise)       /* a: raise, pthread_kill of oneself */                                           \
  X(kill)        /* of the process */                                                              \
  X(publish)     /* this thread is target a */                                                     \
  X(kill_thread) /* target a */                                                                    \
  X(await_kill)  /* until target a was killed, pausing as b says */                                \
  X(stack)       /* a bytes of locals */                                                           \
  X(recurse)     /* a tasks deep, each with b bytes of locals */                                   \
  X(busy)        /* for a us */                                                                    \
  X(nap)         /* for a us */

enum class Op : std::uint8_t {
#define RANDOM_PROGRAMS_NAME(name) name,
  RANDOM_PROGRAMS_OPS(RANDOM_PROGRAMS_NAME)
#undef RANDOM_PROGRAMS_NAME
};
inline constexpr const char* kOpNames[] = {
#define RANDOM_PROGRAMS_NAME(name) #name,
    RANDOM_PROGRAMS_OPS(RANDOM_PROGRAMS_NAME)
#undef RANDOM_PROGRAMS_NAME
};
inline constexpr std::size_t kOps = std::size(kOpNames);

struct Step {
  Op op{};
  Id a = 0, b = 0, c = 0;
  std::vector<Id> list{};
};

// The pauses of a wait by polling, and the ways in which tasks meet.
enum Pause : Id { kYield, kNap1ms, kNap100us, kSpin, kPauses };
enum Way : Id { kLatch, kBarrier, kCondition, kByYield, kByNap1ms, kByNap100us, kBySpin, kWays };

enum Policy : Id { kAsync, kDeferred, kDefault, kThread, kPolicies };
enum Keep : Id { kTouch, kUse, kGetFresh, kDropFresh, kGetHeld, kDropHeld, kKeeps };
enum Fork : Id { kForkEnds, kForkFib, kForkCrowd, kForkWindow, kForkPool, kForks };
enum Exec : Id { kExecTrue, kExecFalse, kExecTerminated, kExecs };

struct Body {
  std::vector<Step> steps;
  std::vector<Id> carries;  // slots that come with its result
  bool throws = false;
  bool optional = false;  // of a deferred call: it runs when it is fetched, at most once
};

// The producer of a slot's outcome.
struct Slot {
  enum Kind : std::uint8_t { body, promise, all, runner } kind = body;
  bool shared = false;
  Id producer = 0;
  std::vector<Id> parts{};  // of `all`: slots
};

struct Meeting {
  Id count = 0, way = kLatch;
};

struct Program {
  std::uint64_t seed = 0;
  Id size = 0;
  bool timer = false;  // a signal each millisecond
  std::vector<Body> bodies;
  std::vector<Slot> slots;
  std::vector<Meeting> meetings;
  std::vector<Id> promises;  // the effect of set_promise on each; kNeverSet
  Id flags = 0, boxes = 0, threads = 0, targets = 0, kills = 0, keeps = 0;
};
inline constexpr Id kNeverSet = 99, kAtExit = 98, kMutexes = 6, kNoBody = ~Id{0};

// The same numbers on every platform.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) { state_ = next(); }  // unlike its neighbour's
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  Id below(std::size_t n) { return static_cast<Id>(next() % n); }
  Id between(Id low, Id high) { return low + below(high - low + 1); }
  bool one_in(std::size_t n) { return below(n) == 0; }
  template <class C>
  auto& of(C& container) {
    return container[below(container.size())];
  }

 private:
  std::uint64_t state_;
};

// Combines two values into one.
inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  return Random(a ^ (b * 0xff51afd7ed558ccd)).next();
}
inline std::uint64_t fibonacci(Id n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

inline void print(const Program& program) {
  for (Id id = 0; id < program.bodies.size(); ++id) {
    const Body& body = program.bodies[id];
    std::printf("body %u%s:\n", id, body.optional ? ", deferred" : "");
    for (const Step& step : body.steps) {
      std::printf("  %s %u %u %u", kOpNames[static_cast<std::size_t>(step.op)], step.a, step.b,
                  step.c);
      for (const Id each : step.list) std::printf(" [%u]", each);
      std::printf("\n");
    }
    for (const Id each : body.carries) std::printf("  carries %u\n", each);
    if (body.throws) std::printf("  throws\n");
  }
}

}  // namespace random_programs
