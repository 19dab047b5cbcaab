// Values and memory that are opaque to the optimiser, so that the measured work is done.
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

// Tells the compiler that memory behind the address may be read and written here, so the memory
// must exist with its computed contents. Without this call a compiler may leave out an allocation
// whose memory no code uses.
inline void escape(const void* address) {
#if defined(__GNUC__)
  asm volatile("" : : "r"(address) : "memory");
#else
  static std::atomic<const void*> sink;  // shared, but no store of a test on this side is timed
  sink.store(address);
#endif
}

}  // namespace bench
