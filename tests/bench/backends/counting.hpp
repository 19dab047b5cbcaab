// The serial backend, which here also counts the tasks that async, fork_join and scope get: the
// harness then compares both forms of a program with the number of tasks that they state.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#define Backend Serial  // this header has to define bench::Backend
#include "backends/serial.hpp"
#undef Backend

namespace bench {

struct Backend : Serial {
  static constexpr std::string_view name = "counting";
  using Serial::Serial;

  template <class F, class... A>
  static auto async(F&& callable, A&&... args) {
    ++tasks_;
    return Serial::async(std::forward<F>(callable), std::forward<A>(args)...);
  }

  template <class... F>
  static void fork_join(F&&... branches) {
    tasks_ += sizeof...(F);
    Serial::fork_join(std::forward<F>(branches)...);
  }

  struct scope : Serial::scope {
    template <class F>
    void spawn(F&& branch) {
      ++tasks_;
      Serial::scope::spawn(std::forward<F>(branch));
    }
  };

  static std::uint64_t tasks_counted() { return tasks_; }

 private:
  static inline std::uint64_t tasks_ = 0;
};

}  // namespace bench
