// Threads for passes over many records: each part of the work is a task of tmk or of another
// scheduler. A waiting thread of tmk also runs tasks. team.each() returns when all parts have
// ended; it throws the first exception.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <system_error>
#include <utility>

#include "students/complaint.hpp"
#include "tmk/fork_join.hpp"
#include "tmk/pool.hpp"

namespace sat {

// A function that the work calls now and then; it may throw, to end the work early. Any thread
// calls it.
using Check = void (*)();

// Calls `check` once in a number of records, each of which takes some ten to some thousand
// nanoseconds.
inline void check_now_and_then(Check check, std::size_t i) {
  if (check != nullptr && i % 4096 == 0) check();
}

// Calls the function for each number below the first argument, at the same time if it can.
using EachPart = std::function<void(std::size_t, const std::function<void(std::size_t)>&)>;

class Team {
 public:
  explicit Team(unsigned threads, Check wanted = nullptr) : threads_(threads), check_(wanted) {
    if (threads > 1) pool_ = std::make_unique<tmk::pool>(threads);
  }

  // Uses threads that others have started; `threads` sets how finely the work is divided.
  Team(unsigned threads, EachPart each)
      : threads_(threads), check_(nullptr), each_(std::move(each)) {}

  unsigned threads() const { return threads_; }
  Check check() const { return check_; }

  // Parts that keep all threads busy to the end, of at least `least` items.
  std::size_t parts(std::size_t items, std::size_t least) const {
    const std::size_t most = threads_ == 1 ? 1 : std::size_t{8} * threads_;
    const std::size_t wanted = items / least;
    return wanted < 1 ? 1 : wanted > most ? most : wanted;
  }

  // call(i) for each i below `parts`, in no order.
  template <class Call>
  void each(std::size_t parts, const Call& call) {
    if (each_ != nullptr) {
      each_(parts, std::cref(call));
      return;
    }
    if (pool_ == nullptr || parts <= 1) {
      for (std::size_t i = 0; i < parts; ++i) call(i);
      return;
    }
    pool_->run([&] {
      tmk::task_scope scope;
      for (std::size_t i = 0; i < parts; ++i) scope.run([&call, i] { call(i); });
      scope.wait();
    });
  }

 private:
  unsigned threads_;
  Check check_;
  std::unique_ptr<tmk::pool> pool_;
  EachPart each_;
};

// Part i of `parts` nearly equal ones of `items`.
struct Range {
  Range(std::size_t begin, std::size_t end) : first(begin), last(end) {}
  Range(std::size_t items, std::size_t parts, std::size_t i)
      : first(items / parts * i + (i < items % parts ? i : items % parts)),
        last(first + items / parts + (i < items % parts ? 1 : 0)) {}
  std::size_t first;
  std::size_t last;
};

}  // namespace sat
