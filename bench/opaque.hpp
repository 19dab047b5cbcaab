// Values and memory that the optimiser must take as they come, so that what is measured is done.
#pragma once

#include <atomic>
#include <type_traits>

namespace bench {

// The same value, of which the optimiser knows nothing. Without it a compiler that sees a recursion
// without side effects merges equal calls: gcc leaves fib(30) a tenth of its calls.
template <class T>
[[nodiscard]] T opaque(T value) {
#if defined(__GNUC__)
  asm volatile("" : "+r"(value));
  return value;
#else
  return std::atomic<T>(value).load();
#endif
}

// Whatever lies behind the address may have been read and written here: it has to exist, and what
// was computed into it has to be there. Without it a compiler may leave out an allocation whose
// memory nobody uses.
inline void escape(const void* address) {
#if defined(__GNUC__)
  asm volatile("" : : "r"(address) : "memory");
#else
  static std::atomic<const void*> sink;  // shared, but no store of a test on this side is timed
  sink.store(address);
#endif
}

}  // namespace bench
