// The serial backend, which here also counts calls of async: the harness then holds a program to
// the tasks it states.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#define Backend Serial  // bench::Backend is what this header has to define
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
  static std::uint64_t tasks_counted() { return tasks_; }

 private:
  static inline std::uint64_t tasks_ = 0;
};

}  // namespace bench
