// The names that the programs use, from the library of this build: those of tmk, or those of std
// with std::async in the place of features that std lacks.
#pragma once

#if SUBJECT_IS_TMK
#include "tmk/async.hpp"
#include "tmk/fork_join.hpp"
#include "tmk/mutex.hpp"
#include "tmk/pool.hpp"
#include "tmk/promise.hpp"
#include "tmk/when_all.hpp"
#else
#include <functional>
#include <future>
#include <iterator>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>
#endif

namespace subject {

#if SUBJECT_IS_TMK
inline constexpr const char* kName = "tmk";

using tmk::async;
using tmk::fork_join;
using tmk::future;
using tmk::launch;
using tmk::lock;
using tmk::mutex;
using tmk::packaged_task;
using tmk::pool;
using tmk::promise;
using tmk::scoped_lock;
using tmk::shared_future;
using tmk::task_scope;
using tmk::when_all;
inline constexpr launch kOwnThread = launch::thread;

#else
inline constexpr const char* kName = "std";

using std::async;
using std::future;
using std::launch;
using std::lock;
using std::mutex;
using std::packaged_task;
using std::promise;
using std::scoped_lock;
using std::shared_future;
inline constexpr launch kOwnThread = launch::async;

template <class F, class... G>
auto fork_join(F&& first, G&&... others) {
  auto futures = std::make_tuple(std::async(launch::async, std::ref(others))...);
  // Braces keep this order; the destructors of the futures wait for the rest.
  return std::apply([&](auto&... each) { return std::tuple{first(), each.get()...}; }, futures);
}

class task_scope {
 public:
  template <class F>
  void run(F&& callable) {
    const std::lock_guard guard(mutex_);
    tasks_.push_back(std::async(launch::async, std::forward<F>(callable)));
  }
  void wait() {
    for (;;) {
      std::vector<future<void>> seen;
      {
        const std::lock_guard guard(mutex_);
        seen.swap(tasks_);
      }
      if (seen.empty()) return;
      for (auto& each : seen) each.get();
    }
  }

 private:
  std::mutex mutex_;
  std::vector<future<void>> tasks_;
};

template <class I>
auto when_all(I first, I last) {
  using All = std::vector<std::iter_value_t<I>>;
  return std::async(
      launch::async,
      [](All all) {
        for (auto& each : all) each.wait();
        return all;
      },
      All(std::make_move_iterator(first), std::make_move_iterator(last)));
}

class pool {
 public:
  explicit pool(unsigned /*threads*/) {}
  template <class F>
  decltype(auto) run(F&& callable) {
    return std::forward<F>(callable)();
  }
};
#endif

}  // namespace subject
