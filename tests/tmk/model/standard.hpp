// Redirects the parts of the standard library and the system that the runtime's headers use to the
// explorer. Include it first: it includes all their headers before it redefines the names.
#pragma once

#include <cxxabi.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "explorer.hpp"

namespace model {

// std::atomic for words of at most eight bytes. Its constructor writes plainly, as std's does: a
// use of the object by a thread that does not see the construction is a race.
template <class T>
class Atomic {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(Word));
  using Order = std::memory_order;
  static constexpr Order kStrongest = std::memory_order_seq_cst;

 public:
  constexpr Atomic() noexcept : value_() {}
  constexpr Atomic(T value) noexcept : value_(value) {}  // NOLINT: implicit, as std's is
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  T operator=(T value) {  // NOLINT: as std's
    store(value);
    return value;
  }
  T load(Order order = kStrongest, Site site = Site::current()) const {
    return from(model::load(&value_, sizeof(T), order, site));
  }
  void store(T value, Order order = kStrongest, Site site = Site::current()) {
    model::store(&value_, sizeof(T), to(value), order, site);
  }
  T exchange(T value, Order order = kStrongest, Site site = Site::current()) {
    return change(Change::exchange, value, order, site);
  }
  T fetch_add(T value, Order order = kStrongest, Site site = Site::current()) {
    return change(Change::add, value, order, site);
  }
  T fetch_sub(T value, Order order = kStrongest, Site site = Site::current()) {
    return change(Change::subtract, value, order, site);
  }
  T fetch_and(T value, Order order = kStrongest, Site site = Site::current()) {
    return change(Change::bit_and, value, order, site);
  }
  T fetch_or(T value, Order order = kStrongest, Site site = Site::current()) {
    return change(Change::bit_or, value, order, site);
  }
  bool compare_exchange_strong(T& expected, T desired, Order success, Order failure,
                               Site site = Site::current()) {
    Word seen = to(expected);
    const bool done =
        model::compare_exchange(&value_, sizeof(T), seen, to(desired), success, failure, site);
    if (!done) expected = from(seen);  // after a success it may belong to another thread
    return done;
  }
  bool compare_exchange_strong(T& expected, T desired, Order order = kStrongest,
                               Site site = Site::current()) {
    const Order failure = order == std::memory_order_acq_rel   ? std::memory_order_acquire
                          : order == std::memory_order_release ? std::memory_order_relaxed
                                                               : order;
    return compare_exchange_strong(expected, desired, order, failure, site);
  }
  bool compare_exchange_weak(T& expected, T desired, Order success, Order failure,
                             Site site = Site::current()) {
    return compare_exchange_strong(expected, desired, success, failure, site);
  }
  bool compare_exchange_weak(T& expected, T desired, Order order = kStrongest,
                             Site site = Site::current()) {
    return compare_exchange_strong(expected, desired, order, site);
  }

 private:
  T change(Change how, T operand, Order order, Site site) {
    return from(model::change(&value_, sizeof(T), how, to(operand), order, site));
  }
  static Word to(T value) {
    Word word = 0;
    std::memcpy(&word, &value, sizeof(T));
    return word;
  }
  static T from(Word word) {
    T value;
    std::memcpy(&value, &word, sizeof(T));
    return value;
  }
  T value_;
};

inline long system_call(long /*membarrier*/, int command, int /*flags*/, int /*cpu*/) {
  if (!membarrier_works()) return -1;
  if (command == MEMBARRIER_CMD_PRIVATE_EXPEDITED) heavy_fence();
  return 0;
}
inline long system_call(long /*futex*/, const void* word, int operation, auto value,
                        const timespec* deadline, void* /*second*/, std::uint32_t mask) {
  if (operation == FUTEX_WAKE_BITSET_PRIVATE) {
    return futex_wake(word, static_cast<unsigned>(value), mask);
  } else if (operation != FUTEX_WAIT_BITSET_PRIVATE) {
    std::abort();
  } else if (!futex_wait(word, static_cast<std::uint32_t>(value), deadline != nullptr, mask)) {
    errno = ETIMEDOUT;
    return -1;
  }
  return 0;
}
inline int create_thread(pthread_t* /*thread*/, const pthread_attr_t* /*attributes*/,
                         void* (*body)(void*), void* argument) {
  spawn([=] { body(argument); });
  return 0;
}
inline int yield_processor() {
  yield();
  return 0;
}
// The explorer's threads do not block signals.
inline int no_signals(int /*how*/, const sigset_t* /*set*/, sigset_t* /*before*/) { return 0; }
// The explorer's threads have no processors of their own.
inline int no_processors(pid_t /*thread*/, std::size_t /*size*/, const cpu_set_t* /*set*/) {
  return -1;
}
// The system takes the pages: nothing is left, and a thread that uses them meanwhile has a race.
inline int drop_pages(void* first, std::size_t bytes, int /*advice*/) {
  for (std::size_t i = 0; i < bytes / sizeof(Word); ++i) static_cast<Word*>(first)[i] = 0;
  return 0;
}
// Threads of the explorer have no stack of the system, so some is always left.
inline int no_stack(pthread_t /*thread*/, pthread_attr_t* /*attributes*/) { return 1; }

}  // namespace model

// In namespace std because the headers write std:: before it.
namespace std {
template <class T>
using modelled_atomic = model::Atomic<T>;
inline void modelled_thread_fence(memory_order /*seq_cst*/) { model::thread_fence(); }
inline void modelled_signal_fence(memory_order /*seq_cst*/) { model::light_fence(); }
}  // namespace std

#define atomic modelled_atomic
#define atomic_thread_fence modelled_thread_fence
#define atomic_signal_fence modelled_signal_fence
#define syscall model::system_call
#define pthread_create model::create_thread
#define pthread_getattr_np model::no_stack
#define pthread_sigmask model::no_signals
#define sched_yield model::yield_processor
#define sched_getaffinity model::no_processors
#define sched_setaffinity model::no_processors
#define madvise model::drop_pages
#define __builtin_ia32_pause() static_cast<void>(0)
#undef __SANITIZE_THREAD__  // it is there for plain accesses; the fences must be the real ones

#include "tmk/detail/assertion.hpp"
#include "tmk/detail/fence.hpp"
#include "tmk/detail/shared_library.hpp"

// Its memory is not the memory of an execution.
namespace tmk::detail {
inline void keep_nothing() {}
}  // namespace tmk::detail
#define keep_module_loaded keep_nothing
// The invariants are required in every execution.
#undef TMK_ASSERT
#define TMK_ASSERT(holds) model::require_aside([&] { return (holds); }, #holds)

// The site of a fence is its caller, not the line inside it.
namespace tmk::detail {
inline void full_fence_at(model::Site site) {
  model::fence_of(site);
  full_fence();
}
inline void light_fence_at(model::Site site) {
  model::fence_of(site);
  light_fence();
}
inline void heavy_fence_at(model::Site site) {
  model::fence_of(site);
  heavy_fence();
}
}  // namespace tmk::detail
namespace model {
using tmk::detail::full_fence_at, tmk::detail::light_fence_at, tmk::detail::heavy_fence_at;
}
#define full_fence() full_fence_at(model::Site::current())
#define light_fence() light_fence_at(model::Site::current())
#define heavy_fence() heavy_fence_at(model::Site::current())
