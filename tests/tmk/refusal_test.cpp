// No memory and no threads: operator new and pthread_create of this program refuse on demand. The
// parent has one thread only, so every test runs in a fresh child.
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>

#include <array>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "../refuse_thread.hpp"
#include "support.hpp"
#include "tmk/async.hpp"
#include "tmk/fork_join.hpp"
#include "tmk/pool.hpp"
#include "tmk/when_all.hpp"

namespace {

// Lets `left` calls pass, refuses the next, and, if `lasting`, those after it.
struct Gate {
  std::atomic<long> left = LONG_MAX;
  std::atomic<bool> lasting = false;
  std::atomic<long> asked = 0, refused = 0;

  void set(long passes, bool for_good) {
    lasting = for_good;
    asked = refused = 0;
    left = passes;
  }
  void open() { left = LONG_MAX; }
  bool refuses() {
    ++asked;
    if (left == LONG_MAX) return false;
    const long before = left--;
    const bool result = before == 0 || (before < 0 && lasting);
    refused += result ? 1 : 0;
    return result;
  }
};
constinit Gate memory, threads;

// Live allocations, without slabs, workers and entries, because tmk keeps those for later use.
constinit std::atomic<long> alive = 0;
void count(void* block, std::size_t alignment, long change) {
  if (alignment <= 64 && malloc_usable_size(block) < 2048) alive += change;
}
// Not inline, because gcc would see free() of a block from new.
[[maybe_unused, gnu::noinline]] void* allocate(std::size_t size, std::size_t alignment) {
  void* const block = memory.refuses() ? nullptr
                      : alignment == 0
                          ? std::malloc(size)
                          : std::aligned_alloc(std::max(alignment, sizeof(void*)),
                                               (size + alignment - 1) & ~(alignment - 1));
  if (block == nullptr) throw std::bad_alloc();
  count(block, alignment, 1);
  return block;
}
[[maybe_unused, gnu::noinline]] void release(void* block, std::size_t alignment) {
  if (block == nullptr) return;
  count(block, alignment, -1);
  std::free(block);
}

}  // namespace

// ThreadSanitizer's operators cannot be replaced.
#if !TMK_TSAN
void* operator new(std::size_t size) { return allocate(size, 0); }
void* operator new(std::size_t size, std::align_val_t a) {
  return allocate(size, static_cast<std::size_t>(a));
}
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  try {
    return allocate(size, 0);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
// AddressSanitizer replaces the other operators itself, and those know nothing of these.
void* operator new[](std::size_t size) { return allocate(size, 0); }
void operator delete[](void* block) noexcept { release(block, 0); }
void operator delete[](void* block, std::size_t /*size*/) noexcept { release(block, 0); }
void operator delete(void* block) noexcept { release(block, 0); }
void operator delete(void* block, std::size_t /*size*/) noexcept { release(block, 0); }
void operator delete(void* block, std::align_val_t a) noexcept {
  release(block, static_cast<std::size_t>(a));
}
void operator delete(void* block, std::size_t /*size*/, std::align_val_t a) noexcept {
  release(block, static_cast<std::size_t>(a));
}
#endif

bool refuses_thread() { return threads.refuses(); }

namespace {

using support::in_child;

int fib(int n) {
  if (n < 2) return n;
  auto a = tmk::async(fib, n - 1);
  auto b = tmk::async(fib, n - 2);
  return a.get() + b.get();
}
bool require(bool holds) {
  if (!holds) std::abort();
  return holds;
}

// Uses every part of tmk. Any call in it may throw bad_alloc, none may give a wrong result.
void use_everything(unsigned pool_size) {
  std::optional<tmk::pool> pool;
  const auto use = [] {
    require(fib(6) == 8);
    std::vector<tmk::future<std::vector<int>>> tasks;
    for (int i = 0; i < 10; ++i) {
      tasks.push_back(tmk::async([i] { return std::vector<int>(100, i); }));
    }
    for (int i = 0; i < 10; ++i) require(tasks[static_cast<std::size_t>(i)].get()[99] == i);
    const std::array<char, 500> large{'x'};  // from the heap
    require(tmk::async([large] { return large[0]; }).get() == 'x');
    require(tmk::async(tmk::launch::deferred, [] { return 2; }).get() == 2);
    tmk::future<std::string> reader;  // older than its promise: else it would wait for ever
    tmk::promise<std::string> promise;
    reader = tmk::async([future = promise.get_future()]() mutable { return future.get(); });
    promise.set_value(std::string(100, 'y'));
    require(reader.get() == std::string(100, 'y'));
    tmk::future<int> copy;
    tmk::packaged_task<int(int)> packaged([large](int i) { return i + large[0]; });
    auto shared = packaged.get_future().share();
    copy = tmk::async([shared] { return shared.get(); });
    packaged(1);
    require(copy.get() == 'x' + 1);
    std::atomic<int> sum = 0;
    tmk::task_scope scope;
    for (int i = 0; i < 5; ++i) {
      scope.run([&scope, &sum] {
        ++sum;
        scope.run([&sum] { ++sum; });
      });
    }
    scope.wait();
    require(sum == 10);
    auto [one, two] = tmk::fork_join([] { return fib(3); }, [] { return fib(4); });
    require(one == 2 && two == 3);
    auto both = tmk::when_all(tmk::async([] { return 1; }), tmk::async([] { return 2; })).get();
    require(std::get<0>(both).get() + std::get<1>(both).get() == 3);
    tmk::promise<int> at_exit;
    auto later = at_exit.get_future();
    auto setter = tmk::async([&] { at_exit.set_value_at_thread_exit(7); });
    setter.get();
    require(later.get() == 7);
  };
  use();
  pool.emplace(pool_size);
  pool->run(use);
  require(tmk::async(tmk::launch::thread, [] { return 3; }).get() == 3);
}

// Breaks a promise without memory for the error broken_promise.
void break_a_promise() {
  tmk::future<int> future;
  {
    tmk::promise<int> promise;
    future = promise.get_future();
  }
  try {
    future.get();
    std::abort();
  } catch (const tmk::future_error&) {
  } catch (const std::bad_alloc&) {
  }
}

#define SKIP_WHERE_NEW_CANNOT_BE_REPLACED() \
  if (support::thread_sanitizer) GTEST_SKIP() << "ThreadSanitizer has its own operator new"

// Tries with the n-th allocation refused, and, if `lasting`, those after it. False if no bad_alloc
// came.
bool survives(void (*body)(), bool lasting, long n) {
  memory.set(n, lasting);
  bool surfaced = false;
  try {
    body();
  } catch (const std::bad_alloc&) {
    surfaced = true;
  }
  memory.open();
  return surfaced;
}

TEST(Memory, bad_alloc_surfaces_from_a_program_that_has_just_begun) {
  SKIP_WHERE_NEW_CANNOT_BE_REPLACED();
  for (void (*body)() : {+[] { use_everything(2); }, +[] { break_a_promise(); }}) {
    for (const bool lasting : {false, true}) {
      bool refused = true;
      int surfaced = 0;
      for (long n = 0; refused; n += support::sanitized ? 7 : 1) {
        const int status = in_child([&] {
          const bool thrown = survives(body, lasting, n);
          // After a refusal there is enough memory again.
          require(fib(10) == 55);
          if (memory.refused == 0) _exit(10);
          if (thrown) _exit(11);
          return true;
        });
        ASSERT_TRUE(status == 0 || status == 10 || status == 11)
            << status << " when allocation " << n << " is refused";
        refused = status != 10;
        surfaced += status == 11 ? 1 : 0;
      }
      EXPECT_GT(surfaced, 0);
    }
  }
}

// Waits until `alive` falls to `level`: threads of an ended pool may be freeing their last block.
bool comes_down_to(long level) {
  for (int i = 0; i < 1000 && alive > level; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return alive <= level;
}

TEST(Memory, nothing_leaks_when_an_allocation_is_refused) {
  SKIP_WHERE_NEW_CANNOT_BE_REPLACED();
  EXPECT_EQ(in_child([] {
              const auto body = +[] { use_everything(2); };
              for (int i = 0; i < 20; ++i) body();  // the standard pool's threads are there
              std::this_thread::sleep_for(std::chrono::milliseconds(20));
              const long before = alive;
              for (const bool lasting : {false, true}) {
                for (long n = 0;; n += support::sanitized ? 7 : 1) {
                  survives(body, lasting, n);
                  const bool ended = memory.refused == 0;
                  if (!comes_down_to(before)) {
                    std::fprintf(stderr, "allocation %ld: %ld leaked\n", n, alive - before);
                    return false;
                  }
                  if (ended) break;
                }
              }
              return true;
            }),
            0);
}

// ---- threads ----

bool works_without_more_threads() {
  if (fib(15) != 610) return false;
  // Each task waits for a queued one.
  std::vector<tmk::shared_future<int>> chain(1, tmk::async([] { return 1; }).share());
  for (int i = 0; i < 1000; ++i) {
    chain.push_back(tmk::async([last = chain.back()] { return last.get() + 1; }).share());
  }
  if (chain.back().get() != 1001) return false;
  std::atomic<int> dropped = 0;
  for (int i = 0; i < 100; ++i) {
    auto future = tmk::async([&] { ++dropped; });
  }
  tmk::task_scope scope;
  for (int i = 0; i < 100; ++i) scope.run([&] { ++dropped; });
  scope.wait();
  auto [a, b] = tmk::fork_join([] { return fib(8); }, [] { return fib(9); });
  return dropped == 200 && a == 21 && b == 34;
}

TEST(Threads, a_refused_thread_is_done_without) {
  for (const long available : {0, 1, 2, 3}) {
    for (const unsigned size : {1u, 2u, 8u}) {
      EXPECT_EQ(in_child([&] {
                  threads.set(available, true);
                  if (!works_without_more_threads()) return false;
                  tmk::pool pool(size);
                  if (!pool.run(works_without_more_threads)) return false;
                  auto left = pool.run([] { return tmk::async(fib, 10); });
                  return left.get() == 55;
                }),
                0)
          << available << " threads are to be had";
    }
  }
}

TEST(Threads, a_pool_without_threads_runs_what_is_left_in_its_destructor) {
  EXPECT_EQ(in_child([] {
              threads.set(0, true);
              tmk::future<int> left;
              {
                tmk::pool pool(4);
                left = pool.run([] { return tmk::async(fib, 10); });
              }
              return left.wait_for(std::chrono::seconds(0)) == tmk::future_status::ready;
            }),
            0);
}

TEST(Threads, refused_threads_are_there_when_they_can_be_had_again) {
  EXPECT_EQ(in_child([] {
              threads.set(0, true);
              require(fib(10) == 55);
              threads.open();
              std::atomic<bool> ran = false;
              std::vector<tmk::future<void>> tasks;
              while (!ran) {  // without waiting for any of them
                tasks.push_back(tmk::async([&] { ran = true; }));
                std::this_thread::yield();
              }
              return true;
            }),
            0);
}

// ---- waits without memory ----

TEST(Waits, a_thread_that_has_never_used_tasks_needs_no_memory_to_wait) {
  EXPECT_EQ(in_child([] {
              tmk::pool pool(1);
              return pool.run([] {
                auto fetched = tmk::async([] { return 5; }), dropped = tmk::async([] { return 6; });
                std::thread([&] {
                  memory.set(0, true);
                  const int value = fetched.get();
                  dropped = {};
                  memory.open();
                  require(value == 5);
                }).join();
                return true;
              });
            }),
            0);
}
TEST(Waits, the_watchdog_needs_no_memory_to_look_at_threads) {
  EXPECT_EQ(in_child([] {
              tmk::pool pool(1);
              return pool.run([] {
                auto pending = tmk::async([] { return 1; });
                memory.set(0, true);
                std::this_thread::sleep_for(std::chrono::milliseconds(100));
                memory.open();
                return pending.get() == 1;
              });
            }),
            0);
}

// A refusal takes the system some time.
TEST(Threads, refused_threads_are_not_asked_for_with_each_task) {
  EXPECT_EQ(in_child([] {
              threads.set(0, true);
              require(fib(18) == 2584);  // 8360 tasks
              return threads.asked < 500;
            }),
            0);
}

TEST(Threads, a_call_that_must_have_its_own_thread_says_that_there_is_none) {
  EXPECT_EQ(in_child([] {
              threads.set(0, true);
              try {
                tmk::async(tmk::launch::thread, [] {}).get();
              } catch (const std::system_error& error) {
                return error.code() == std::errc::resource_unavailable_try_again;
              }
              return false;
            }),
            0);
}

TEST(Threads, ten_million_tasks_can_be_pending_at_once) {
  for (const bool oldest_first : {true, false}) {
    const long n = support::sanitized ? 200'000 : oldest_first ? 10'000'000 : 1'000'000;
    EXPECT_EQ(in_child([&] {
                threads.set(0, true);  // so that no thread takes them away meanwhile
                std::vector<tmk::future<long>> tasks(static_cast<std::size_t>(n));
                for (auto& task : tasks) task = tmk::async([] { return 1L; });
                const tmk::statistics before = tmk::stats();
                if (before.tasks != tasks.size() || before.inline_claims != 0) return false;
                long sum = 0;
                for (std::size_t i = 0; i < tasks.size(); ++i) {
                  sum += tasks[oldest_first ? i : tasks.size() - 1 - i].get();
                }
                rusage usage{};
                getrusage(RUSAGE_SELF, &usage);
                const long bytes = usage.ru_maxrss * 1024 / n;
                std::printf("%ld tasks pending: %ld bytes each\n", n, bytes);
                std::fflush(stdout);
                return sum == n && (support::sanitized || bytes < 200);
              }),
              0);
  }
}

}  // namespace
