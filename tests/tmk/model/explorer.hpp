// An explorer of interleavings: runs a scenario under every order of its threads' steps, and under
// every value that the C++ memory model lets a load see, that can make a difference. The explorer
// runs the runtime's own headers, because standard.hpp leads their atomics, futexes and fences
// here; model.md names the covered cases and the limits.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <set>
#include <source_location>
#include <string>

namespace model {

using Word = std::uint64_t;
using Site = std::source_location;

// ---- for scenarios, which run as the first thread ----

// Starts a thread. At most kThreads in all, the scenario included.
inline constexpr unsigned kThreads = 6;
void spawn(std::function<void()> body);
// Lets the other threads run until each has ended or sleeps with no thread left to wake it. Returns
// how many sleep. Their steps happen before the caller's next step.
[[nodiscard]] unsigned settle();
// Fails the execution unless `holds`.
void require(bool holds, const char* what);
// The same for the newest values; looking at them is no step.
class Aside {
 public:
  Aside();
  Aside(const Aside&) = delete;
  ~Aside();

 private:
  bool before_;
};
template <class F>
void require_aside(const F& holds, const char* what) {
  bool held = false;
  {
    const Aside aside;
    held = holds();
  }
  require(held, what);
}
// Adds to the values observed in the executions of the scenario.
void observe(int value);
// How often a wait with a deadline may time out, at once or never, in each thread that starts after
// this call.
void allow_timeouts(unsigned times);
// Begins a round of a loop that looks for work. After two rounds without a sleep, a thread
// waits until no other can run, because it would otherwise wait actively, for ever.
void begin_round();
// A wait for a word is one step, which comes late enough: the next change of the word, and the
// loads before it, when it is zero; the next load, when it has one of the bits. A try before that
// changes nothing for other threads.
void when_zero(const void* word);
void when_set(const void* word, std::uint32_t bits);
// Each keeps a part in the execution that begins, which others leave out: the loop that waits for a
// lock; the questions of threads that look around; a thief's look for an answer; a waker's choice
// of the thread.
void let_locks_spin();
void let_threads_ask();
bool threads_ask();
void let_thieves_hear();
bool thieves_hear();
void let_wakers_choose();
bool wakers_choose();
// Each thread has its own value in *slot, first the value at this call: for thread_local pointers.
void keep_per_thread(void** slot);

// ---- for callers that run scenarios ----

// An explicit memory order that was seen at work, or a part of one to leave out.
struct Order {
  std::string file;  // without its folder
  unsigned line = 0;
  unsigned column = 0;
  std::string part;  // acquire, release, fence
  auto operator<=>(const Order&) const = default;
};

inline constexpr unsigned kUnbounded = 1000;
struct Settings {
  bool reduced = true;  // false: all orders of all steps, to check the reduction itself
  Order without;        // is left out; nothing if the file is empty
  unsigned preemptions = kUnbounded;  // of threads that could go on, in one execution
};

struct Outcome {
  std::uint64_t executions = 0;
  std::uint64_t cut = 0;  // short, because they were equivalent to another execution
  std::set<int> observed;
  std::set<Order> orders;  // all beyond relaxed that were at work
  std::string failure;     // empty, or the failed condition and the steps before it
};

Outcome explore(const Settings& settings, const std::function<void()>& scenario);

// ---- for standard.hpp ----

enum class Change : std::uint8_t { exchange, add, subtract, bit_and, bit_or };
Word load(const void* word, std::size_t size, std::memory_order order, Site site);
void store(void* word, std::size_t size, Word value, std::memory_order order, Site site);
Word change(void* word, std::size_t size, Change how, Word operand, std::memory_order order,
            Site site);
bool compare_exchange(void* word, std::size_t size, Word& expected, Word desired,
                      std::memory_order success, std::memory_order failure, Site site);
void thread_fence();  // seq_cst
void light_fence();   // of the pair that membarrier makes
void heavy_fence();
// True unless the environment changes it, for the whole process: the runtime asks only once.
bool membarrier_works();
bool futex_wait(const void* word, std::uint32_t expected, bool timed,
                std::uint32_t mask);                                       // false: timed out
unsigned futex_wake(const void* word, unsigned most, std::uint32_t mask);  // how many
void yield();  // returns when something that the caller has read since its last yield is written
// The site of the next fence: the runtime's fences are functions, so their callers give it.
void fence_of(Site site);

}  // namespace model
