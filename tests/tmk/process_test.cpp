// tmk amid the rest of a process: fork, cancellation, signals, and the end of main. The parent has
// one thread only, so every test runs in a fresh child.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/time.h>
#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <string>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "support.hpp"
#include "tmk/async.hpp"
#include "tmk/fork_join.hpp"
#include "tmk/pool.hpp"

namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""us;
using support::cpu_seconds;
using support::in_child;
using support::resident_kib;

int fib(int n) {
  if (n < 2) return n;
  auto a = tmk::async(fib, n - 1);
  auto b = tmk::async(fib, n - 2);
  return a.get() + b.get();
}
bool fib_works() { return fib(15) == 610; }

void spin_until(const std::atomic<bool>& flag) {
  while (!flag) std::this_thread::yield();
}

// A thread of POSIX, which can be cancelled.
class Thread {
 public:
  explicit Thread(void (*body)()) {
    pthread_create(
        &thread_, nullptr,
        [](void* given) -> void* {
          reinterpret_cast<void (*)()>(given)();
          return nullptr;
        },
        reinterpret_cast<void*>(body));
  }
  void cancel() const { pthread_cancel(thread_); }
  bool was_cancelled() const {
    void* result = nullptr;
    return pthread_join(thread_, &result) == 0 && result == PTHREAD_CANCELED;
  }

 private:
  pthread_t thread_{};
};

// ---- fork ----

#define SKIP_WHERE_FORKED_THREADS_ARE_REFUSED() \
  if (support::thread_sanitizer) GTEST_SKIP() << "ThreadSanitizer starts no threads after a fork"

TEST(Fork, a_forked_child_has_threads_of_its_own) {
  SKIP_WHERE_FORKED_THREADS_ARE_REFUSED();
  EXPECT_EQ(in_child([] {
              if (!fib_works()) return false;
              const bool in_children = in_child([] {
                                         std::atomic<bool> ran = false;
                                         auto task = tmk::async([&] { ran = true; });
                                         spin_until(ran);  // so that this thread does not run it
                                         return fib_works() && in_child(fib_works) == 0;
                                       }) == 0;
              return in_children && fib_works();
            }),
            0);
}

TEST(Fork, tasks_pending_at_a_fork_run_in_the_child_only_if_it_fetches_them) {
  SKIP_WHERE_FORKED_THREADS_ARE_REFUSED();
  EXPECT_EQ(in_child([] {
              tmk::pool pool(1);
              return pool.run([] {
                static std::atomic<int> runs;
                static std::vector<tmk::future<void>> tasks;
                for (int i = 0; i < 100; ++i) tasks.push_back(tmk::async([] { ++runs; }));
                return in_child([] {
                         std::atomic<bool> ran = false;
                         auto own = tmk::async([&] { ran = true; });
                         std::this_thread::sleep_for(300ms);
                         if (!ran || runs != 0) return false;
                         tasks[50].get();
                         std::thread([] { tasks[51].get(); }).join();
                         return runs == 2;
                       }) == 0;
              });
            }),
            0);
}

TEST(Fork, a_branch_of_a_fork_join_may_fork) {
  SKIP_WHERE_FORKED_THREADS_ARE_REFUSED();
  for (const bool makes_tasks : {false, true}) {  // before the other branch is joined
    EXPECT_EQ(in_child([&] {
                pid_t child = -1;
                const auto [one, two] = tmk::fork_join(
                    [&] {
                      child = fork();
                      return child == 0 && makes_tasks ? fib(10) : 55;
                    },
                    [] { return 5; });
                const bool good = one == 55 && two == 5;
                if (child == 0) _exit(good ? 0 : 1);
                return good && support::status_of(child) == 0;
              }),
              0);
  }
}

TEST(Fork, tasks_pending_at_a_fork_can_be_fetched_in_both_processes) {
  SKIP_WHERE_FORKED_THREADS_ARE_REFUSED();
  EXPECT_EQ(in_child([] {
              setenv("TMK_NUM_THREADS", "1", 1);  // so most of them stay pending for a while
              std::vector<tmk::future<int>> tasks;
              for (int i = 0; i < 1000; ++i) tasks.push_back(tmk::async([] { return 1; }));
              const auto all = [&] {
                int sum = 0;
                for (auto& task : tasks) sum += task.get();
                return sum == 1000;
              };
              return in_child(all) == 0 && all();
            }),
            0);
}

TEST(Fork, a_fork_amid_stealing_leaves_no_lock_held) {
  SKIP_WHERE_FORKED_THREADS_ARE_REFUSED();
  EXPECT_EQ(in_child([] {
              std::atomic<bool> ended = false;
              std::vector<std::thread> busy;
              for (int i = 0; i < 2; ++i) {
                busy.emplace_back([&] {
                  while (!ended) fib(10);
                });
              }
              bool good = true;
              for (int i = 0; i < 50 && good; ++i) {
                auto task = tmk::async(fib, 10);
                good = in_child(fib_works) == 0;
                task.get();
              }
              ended = true;
              for (auto& each : busy) each.join();
              return good;
            }),
            0);
}

TEST(Fork, a_pool_of_the_parent_ends_in_the_child) {
  SKIP_WHERE_FORKED_THREADS_ARE_REFUSED();
  for (const bool standard_too : {false, true}) {
    EXPECT_EQ(in_child([&] {
                std::optional<tmk::pool> pool(std::in_place, 3);
                if (standard_too) fib(10);
                pool->run([] { fib(10); });
                const bool outside = in_child([&] {
                                       pool.reset();
                                       return fib_works();
                                     }) == 0;
                const bool inside = pool->run([] { return in_child(fib_works); }) == 0;
                pool.reset();
                return outside && inside;
              }),
              0);
  }
}

TEST(Fork, a_task_may_fork) {
  SKIP_WHERE_FORKED_THREADS_ARE_REFUSED();
  EXPECT_EQ(in_child([] {
              std::atomic<bool> ended = false;
              auto task = tmk::async([&] {
                const bool good = in_child(fib_works) == 0;
                ended = true;
                return good;
              });
              spin_until(ended);  // so that a thread of the pool runs it
              return task.get();
            }),
            0);
}

// ---- cancellation ----

std::atomic<bool> go, begun;
tmk::shared_future<int> common;
tmk::future<int> only;

// Both also happen to a program without tmk.
#if defined(_LIBCPP_VERSION)
#define SKIP_WHERE_CANCELLED_THREADS_CRASH() \
  GTEST_SKIP() << "glibc unwinds with libgcc, whose frames libc++abi takes for those of libunwind"
#else
#define SKIP_WHERE_CANCELLED_THREADS_CRASH() \
  if (support::thread_sanitizer) GTEST_SKIP() << "ThreadSanitizer loses a thread that unwinds"
#endif

TEST(Cancellation, a_cancelled_thread_finishes_its_wait) {
  SKIP_WHERE_CANCELLED_THREADS_CRASH();
  EXPECT_EQ(in_child([] {
              common = tmk::async([] {
                         begun = true;
                         spin_until(go);
                         return 1;
                       }).share();
              spin_until(begun);
              static std::atomic<bool> waited;
              const Thread waiter([] {
                common.wait();
                waited = true;
                for (;;) pthread_testcancel();
              });
              waiter.cancel();
              std::this_thread::sleep_for(2ms);
              go = true;
              return waiter.was_cancelled() && waited && common.get() == 1 && fib_works();
            }),
            0);
}

int cancelled_in_the_middle() {
  begun = true;
  for (;;) {
    pthread_testcancel();
    std::this_thread::yield();
  }
}
bool breaks_its_promise(auto& future) {
  try {
    future.get();
  } catch (const tmk::future_error& error) {
    return error.code() == tmk::future_errc::broken_promise;
  }
  return false;
}

// The task is pending still when the thread asks for it: the pool is busy, or the test tries again.
TEST(Cancellation, a_thread_cancelled_in_a_task_breaks_its_promise) {
  SKIP_WHERE_CANCELLED_THREADS_CRASH();
  for (const bool shared : {true, false}) {
    EXPECT_EQ(in_child([&] {
                tmk::pool pool(1);  // its only thread visits it here
                return pool.run([&] {
                  if (shared) {
                    common = tmk::async(cancelled_in_the_middle).share();
                  } else {
                    only = tmk::async(cancelled_in_the_middle);
                  }
                  const Thread runner(shared ? +[] { common.wait(); } : +[] { only.get(); });
                  spin_until(begun);
                  runner.cancel();
                  const bool kept = !shared || breaks_its_promise(common);
                  return runner.was_cancelled() && kept && fib_works();
                });
              }),
              0);
  }
}

// pthread_exit in a task has the same effect.
TEST(Cancellation, a_pool_survives_the_end_of_one_of_its_threads) {
  SKIP_WHERE_CANCELLED_THREADS_CRASH();
  EXPECT_EQ(in_child([] {
              for (unsigned size = 1; size <= 3; ++size) {
                tmk::pool pool(size);
                const bool good = pool.run([] {
                  for (int i = 0; i < 10; ++i) {
                    begun = false;
                    auto ending = tmk::async([]() -> int {
                      begun = true;
                      pthread_exit(nullptr);
                    });
                    spin_until(begun);  // on another thread than this
                    if (!breaks_its_promise(ending) || !fib_works()) return false;
                  }
                  return true;
                });
                if (!good) return false;
              }
              return true;
            }),
            0);
}

// ---- signals ----

std::atomic<int> handled;
pthread_t expected_handler;
std::atomic<int> wrong_thread;
void handle(int /*signal*/) {
  ++handled;
  if (pthread_equal(pthread_self(), expected_handler) == 0) ++wrong_thread;
}

// Runs on a thread of the pool, and returns there.
template <class F>
auto on_the_pool(const F& body) {
  std::atomic<bool> begins = false;
  auto task = tmk::async([&] {
    begins = true;
    return body();
  });
  spin_until(begins);
  return task.get();
}
// Whether the first task of a fresh child on the pool begins and ends in less than 20 ms, in one of
// five children. If the pool has no place for the task, it waits until the watchdog loses its
// patience. `visit` calls its argument.
template <class F>
bool begins_at_once(const F& visit) {
  const auto soon = [&] {
    bool result = false;
    visit([&] {
      const auto before = std::chrono::steady_clock::now();
      on_the_pool([] { return 0; });
      result = std::chrono::steady_clock::now() - before < 20ms;
    });
    return result;
  };
  for (int i = 0; i < 5; ++i) {
    if (in_child(soon) == 0) return true;
  }
  return false;
}
// A program that a task executes: ends by the signal, as it would from any other thread.
TEST(Signals, a_program_that_a_task_executes_blocks_none) {
  EXPECT_EQ(in_child([] {
              return on_the_pool([] {
                       const pid_t child = fork();
                       if (child == 0) {
                         execlp("sleep", "sleep", "20", nullptr);
                         _exit(127);
                       }
                       std::this_thread::sleep_for(50ms);
                       kill(child, SIGTERM);
                       return support::status_of(child);
                     }) == 128 + SIGTERM;
            }),
            0);
}
TEST(Signals, a_task_may_raise_one_and_handle_it) {
  EXPECT_EQ(in_child([] {
              static std::atomic<int> raised;
              std::signal(SIGTERM, [](int) { ++raised; });
              return on_the_pool([] {
                raise(SIGTERM);
                return raised == 1;
              });
            }),
            0);
}
// Programs that wait for signals block them everywhere, before they make threads. Returns whether
// tasks block a signal that this thread blocks from now on, after the pool has rested.
template <class Rest>
bool tasks_block_it_too(Rest rest) {
  fib_works();
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  rest();
  for (int i = 0; i < 20; ++i) {
    std::atomic<bool> begins = false, ends = false;
    auto task = tmk::async([&] {
      begins = true;
      spin_until(ends);
    });
    spin_until(begins);
    kill(getpid(), SIGUSR2);  // it ends the process if it is not blocked
    const timespec second{.tv_sec = 1, .tv_nsec = 0};
    const bool waited = sigtimedwait(&set, nullptr, &second) == SIGUSR2;
    ends = true;
    task.get();
    if (!waited) return false;
  }
  return true;
}
// Waits until the kernel reports each other thread asleep: a busy machine may keep a thread that
// looks around from its processor for long.
void until_the_others_sleep() {
  for (bool all = false; !all;) {
    std::this_thread::sleep_for(20ms);
    all = true;
    for (const auto& each : std::filesystem::directory_iterator("/proc/self/task")) {
      std::string line;
      std::getline(std::ifstream(each.path() / "stat"), line);
      const bool self = each.path().filename() == std::to_string(gettid());
      all = all && (self || line.substr(line.rfind(')') + 2, 1) == "S");
    }
  }
}
TEST(Signals, tasks_block_what_the_thread_blocks_that_wakes_the_pool) {
  EXPECT_EQ(in_child([] { return tasks_block_it_too(until_the_others_sleep); }), 0);
}
// A thread that has not run for long has not asked, and takes the task as it is.
TEST(Signals, tasks_block_what_the_thread_blocks_that_answers_a_thread_which_looks_around) {
  int good = 0;
  for (int i = 0; i < 10 && good == 0; ++i) {
    const auto soon = [] { std::this_thread::sleep_for(200us); };
    if (in_child([soon] { return tasks_block_it_too(soon); }) == 0) ++good;
  }
  EXPECT_GT(good, 0);
}

TEST(Signals, a_signal_of_the_process_goes_to_the_main_thread) {
  if (support::thread_sanitizer) GTEST_SKIP() << "ThreadSanitizer handles signals later";
  EXPECT_EQ(in_child([] {
              expected_handler = pthread_self();
              std::signal(SIGUSR1, handle);
              fib_works();  // there are threads now
              for (int i = 1; i <= 200; ++i) {
                auto task = tmk::async(fib, 12);
                kill(getpid(), SIGUSR1);
                task.get();
              }
              // A thread that then begins a task, and unblocks signals for it, may be faster.
              return handled == 200 && wrong_thread <= 1;
            }),
            0);
}

TEST(Signals, a_signal_that_interrupts_a_wait_does_not_end_it) {
  EXPECT_EQ(in_child([] {
              expected_handler = pthread_self();
              std::signal(SIGVTALRM, handle);
              std::signal(SIGUSR2, handle);
              bool good = true;
              for (int i = 0; i < 20; ++i) {
                begun = go = false;
                auto task = tmk::async([] {
                  begun = true;
                  spin_until(go);
                  return 1;
                });
                spin_until(begun);
                std::atomic<bool> timed_out{false};
                std::thread disturber([&timed_out] {  // disturbs both waits on any slow machine
                  for (int k = 0; k < 20; k += timed_out ? 1 : 0) {
                    kill(getpid(), SIGUSR2);
                    std::this_thread::sleep_for(50us);
                  }
                  go = true;
                });
                sigset_t set;
                good = good && task.wait_for(500us) == tmk::future_status::timeout;
                timed_out = true;
                good = good && task.get() == 1;
                disturber.join();
                good = good && pthread_sigmask(SIG_BLOCK, nullptr, &set) == 0 &&
                       sigismember(&set, SIGUSR2) == 0;
              }
              return good && handled > 0;
            }),
            0);
}

// A fault in a task reaches the program's own handler, as on any other thread.
TEST(Signals, a_fault_in_a_task_reaches_its_handler) {
  EXPECT_EQ(in_child([] {
              std::signal(SIGSEGV, [](int) { _exit(0); });
              auto task = tmk::async([] {
                raise(SIGSEGV);
                begun = true;
              });
              spin_until(begun);
              return false;
            }),
            0);
}

// ---- the end of main ----

struct Keeper {
  explicit Keeper(bool uses) {
    if (uses) future = tmk::async(fib, 10);
  }
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;
  // Uses tmk after main's thread_locals have gone, from objects older and younger than all of tmk.
  ~Keeper() {
    if (future.valid() && future.get() != 55) _exit(2);
    if (!fib_works()) _exit(3);
    if (tmk::async([] { return fib(12); }).share().get() != 144) _exit(4);
  }
  tmk::future<int> future;
};

TEST(End, static_objects_may_use_tasks_in_their_destructors) {
  EXPECT_EQ(in_child(
                [] {
                  static Keeper older(false);
                  fib_works();
                  static Keeper younger(true);
                  older.future = tmk::async(fib, 10);
                  return true;
                },
                true),
            0);
}

TEST(End, thread_locals_may_use_tasks_in_their_destructors) {
  EXPECT_EQ(in_child(
                [] {
                  std::thread([] {
                    static thread_local Keeper older(false);
                    older.future = tmk::async(fib, 10);
                    static thread_local Keeper younger(true);
                  }).join();
                  static thread_local Keeper of_main(true);
                  return fib_works();
                },
                true),
            0);
}

// Older than the first use of tmk in its thread, and so destroyed after all younger objects.
struct Late {
  Late() = default;
  Late(const Late&) = delete;
  Late& operator=(const Late&) = delete;
  ~Late() {
    if (kept.valid()) kept.get();
    fib_works();
  }
  tmk::future<int> kept;
};
void end_threads_with_late_objects(int threads) {
  for (int i = 0; i < threads; ++i) {
    std::thread([] {
      static thread_local Late late;
      late.kept = tmk::async(fib, 3);
    }).join();
  }
}
TEST(End, threads_whose_last_objects_use_tasks_do_not_count_as_running) {
  EXPECT_TRUE(begins_at_once([](const auto& measure) {
    setenv("TMK_NUM_THREADS", "3", 1);
    end_threads_with_late_objects(20);
    measure();
  }));
}
TEST(End, threads_whose_last_objects_use_tasks_leave_no_memory_behind) {
  if (support::sanitized) GTEST_SKIP() << "the memory is the sanitizer's";
  EXPECT_EQ(in_child([] {
              end_threads_with_late_objects(100);
              const long before = resident_kib();
              end_threads_with_late_objects(1000);  // a worker for each would take 41 KiB
              return resident_kib() - before < 8000;
            }),
            0);
}

// ---- pools ----

TEST(Pools, a_pool_may_be_let_go_by_its_own_task) {
  EXPECT_EQ(in_child([] {
              auto pool = std::make_shared<tmk::pool>(2);
              tmk::pool& still = *pool;
              std::atomic<bool> go_on = false, ended = false;
              tmk::future<void> task = still.run([&] {
                return tmk::async([&, mine = pool]() mutable {
                  spin_until(go_on);
                  mine.reset();
                  tmk::async([] {}).get();
                  ended = true;
                });
              });
              pool.reset();
              go_on = true;
              spin_until(ended);
              task.get();
              return fib_works();
            }),
            0);
}
TEST(Pools, the_end_of_a_pool_waits_for_its_tasks_asleep) {
  if (support::sanitized) GTEST_SKIP() << "a sanitizer's own threads use some";
  EXPECT_EQ(in_child([] {
              tmk::future<void> sleeper;
              double before = 0;
              {
                tmk::pool pool(2);
                std::atomic<bool> begins = false;
                pool.run([&] {
                  sleeper = tmk::async([&] {
                    begins = true;
                    std::this_thread::sleep_for(300ms);
                  });
                  spin_until(begins);
                });
                before = cpu_seconds();
              }
              return cpu_seconds() - before < 0.1 &&
                     sleeper.wait_for(0ms) == tmk::future_status::ready;
            }),
            0);
}
// A task that waits in tmk does not run; later it needs more threads than the pool has.
TEST(Pools, the_end_of_a_pool_waits_for_tasks_that_wait) {
  EXPECT_EQ(in_child([] {
              tmk::promise<void> go_on;
              std::atomic<bool> begins = false, ended = false;
              std::thread later;
              tmk::future<void> task;
              {
                tmk::pool pool(2);
                pool.run([&] {
                  task = tmk::async([&, until = go_on.get_future()]() mutable {
                    begins = true;
                    until.get();
                    std::atomic<int> met = 0;
                    std::vector<tmk::future<void>> tasks;
                    for (int i = 0; i < 6; ++i) {
                      tasks.push_back(tmk::async([&] {
                        ++met;
                        while (met < 6) std::this_thread::sleep_for(1ms);
                      }));
                    }
                    for (auto& each : tasks) each.get();
                    ended = true;
                  });
                  spin_until(begins);
                });
                later = std::thread([&] {
                  std::this_thread::sleep_for(50ms);
                  go_on.set_value();
                });
              }
              later.join();
              return ended.load();
            }),
            0);
}
TEST(Pools, a_task_that_visits_its_own_pool_takes_no_place_of_another) {
  EXPECT_TRUE(begins_at_once([](const auto& measure) {
    tmk::pool pool(2);
    pool.run([&] {
      tmk::async([] {}).get();
      pool.run(measure);
    });
  }));
}
// The first user may be a thread that is pinned to one processor.
TEST(Pools, the_processors_are_those_of_the_main_thread) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "there is one processor";
  EXPECT_EQ(in_child([&] {
              unsetenv("TMK_NUM_THREADS");
              bool good = false;
              std::thread([&] {
                cpu_set_t one;
                CPU_ZERO(&one);
                for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
                  if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
                }
                sched_setaffinity(0, sizeof one, &one);
                const auto counted = on_the_pool([] {
                  cpu_set_t mine;
                  return sched_getaffinity(0, sizeof mine, &mine) == 0 ? CPU_COUNT(&mine) : 0;
                });
                good = counted == CPU_COUNT(&all) &&
                       tmk::detail::Pool::standard().size() == tmk::detail::usable_processors(all);
              }).join();
              return good;
            }),
            0);
}

TEST(End, a_static_pool_ends_with_the_program) {
  EXPECT_EQ(in_child(
                [] {
                  static tmk::future<int> left;
                  static tmk::pool pool(2);
                  pool.run([] { left = tmk::async(fib, 15); });
                  return true;
                },
                true),
            0);
}

TEST(End, exit_in_a_task_ends_the_program) {
  EXPECT_EQ(in_child([] {
              static tmk::pool pool(2);
              pool.run([] {
                auto task = tmk::async([] { std::exit(0); });
                for (;;) std::this_thread::yield();
              });
              return false;
            }),
            0);
}

}  // namespace
