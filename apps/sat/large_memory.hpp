// Memory for objects of many megabytes, in large pages. A page of 4 KiB costs a fault at its first
// use. For objects that are made once the faults take as long as filling them, and threads that
// fault at the same time wait for one another in the kernel.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <memory>
#include <new>

namespace sat {

inline constexpr std::size_t kLargePage = std::size_t{2} << 20;

// Smaller objects are not worth a partly filled page.
inline constexpr std::size_t kLeastLarge = 2 * kLargePage;

class FreeLarge {
 public:
  explicit FreeLarge(std::size_t bytes = 0) : aligned_(bytes >= kLeastLarge) {}
  void operator()(void* p) const {
    if (aligned_) {
      ::operator delete(p, std::align_val_t{kLargePage});
    } else {
      ::operator delete(p);
    }
  }

 private:
  bool aligned_;
};

template <class T>
using LargeMemory = std::unique_ptr<T, FreeLarge>;

// Not initialised.
template <class T>
LargeMemory<T> allocate_large(std::size_t count) {
  const std::size_t bytes = count * sizeof(T);
  const FreeLarge free(bytes);
  if (bytes < kLeastLarge) return LargeMemory<T>(static_cast<T*>(::operator new(bytes)), free);
  void* const place = ::operator new(bytes, std::align_val_t{kLargePage});
  madvise(place, bytes, MADV_HUGEPAGE);  // a request only: all works without it
  return LargeMemory<T>(static_cast<T*>(place), free);
}

}  // namespace sat
