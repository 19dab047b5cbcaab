// A number that one thread counts up and any thread may read.
#pragma once

#include <atomic>
#include <cstdint>

#include "compiler.hpp"

namespace tmk::detail {

class Counter {
 public:
  void increment() {
#if defined(__x86_64__) && !TMK_TSAN
    // The same as below in one instruction, which compilers do not find. Other threads see the old
    // or the new value.
    asm("addq $1, %0" : "+m"(value_));
#else
    // ORDER count: relaxed, statistic.
    value_.store(value_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
#endif
  }
  std::uint64_t read() const {
    return value_.load(std::memory_order_relaxed);  // ORDER read-count: relaxed, statistic.
  }
  void reset() { value_.store(0); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

}  // namespace tmk::detail
