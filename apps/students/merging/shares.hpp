// Gives out numbers in order to workers, and keeps the failure of the lowest number. Protocol:
// ../merge.md.
#pragma once

#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

#include "../crew.hpp"

namespace students {

class Shares {
 public:
  explicit Shares(std::uint64_t count) : count_(count) {}

  // The next number; nothing when all are taken or a worker has failed.
  std::optional<std::uint64_t> take() {
    const std::lock_guard lock(mutex_);
    if (failure_ || next_ == count_) return std::nullopt;
    return next_++;
  }

  void fail(std::uint64_t number, std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (failure_ && failed_ <= number) return;
    failure_ = std::move(failure);
    failed_ = number;
  }

  // After all workers have ended.
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  const std::uint64_t count_;
  std::mutex mutex_;  // of the members below
  std::uint64_t next_ = 0;
  std::exception_ptr failure_;
  std::uint64_t failed_ = 0;
};

// Calls work(number) for 0..count - 1 with `workers` workers, each with its own `work` that
// make(worker) returns. A worker that fails notes the failure and then calls `on_failure`. Throws
// the exception of the lowest failed number.
template <typename Make, typename OnFailure>
void share_out(unsigned workers, std::uint64_t count, Make make, OnFailure on_failure) {
  Shares shares(count);
  const auto run = [&](unsigned worker) {
    std::uint64_t number = 0;
    try {
      auto work = make(worker);
      while (const std::optional<std::uint64_t> next = shares.take()) {
        number = *next;
        work(number);
      }
    } catch (...) {
      shares.fail(number, std::current_exception());
      on_failure();
    }
  };
  {
    Crew crew;
    try {
      for (unsigned i = 1; i < workers; ++i) crew.start([&run, i] { run(i); });
    } catch (...) {
      shares.fail(0, std::current_exception());
      on_failure();
    }
    run(0);
  }
  shares.rethrow();
}

template <typename Make>
void share_out(unsigned workers, std::uint64_t count, Make make) {
  share_out(workers, count, make, [] {});
}

}  // namespace students
