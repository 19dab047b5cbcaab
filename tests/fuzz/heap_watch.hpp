// The most heap that a fuzzed reader holds at once, counted by AddressSanitizer's hooks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include <sanitizer/allocator_interface.h>

namespace heap_watch {

inline std::atomic<bool> counting{false};
inline std::atomic<std::size_t> held_bytes{0};
inline std::atomic<std::size_t> most_bytes{0};

// Counts from this call on, from 0.
inline void begin() {
  held_bytes = most_bytes = 0;
  counting = true;
}

// Ends counting. Returns the most bytes that were held at once since begin().
inline std::size_t end() {
  counting = false;
  return most_bytes;
}

}  // namespace heap_watch

// libFuzzer calls this before the first input.
extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  const auto on_malloc = [](auto /*place*/, std::size_t size) {
    if (!heap_watch::counting) return;
    const std::size_t held = heap_watch::held_bytes += size;
    if (held > heap_watch::most_bytes) heap_watch::most_bytes = held;
  };
  const auto on_free = [](auto place) {
    if (!heap_watch::counting || place == nullptr) return;
    const std::size_t size = __sanitizer_get_allocated_size(place);
    const std::size_t held = heap_watch::held_bytes;
    heap_watch::held_bytes -= size < held ? size : held;  // some blocks are older than counting
  };
  if (__sanitizer_install_malloc_and_free_hooks(on_malloc, on_free) == 0) {
    std::fputs("fuzz: cannot watch the heap: built without AddressSanitizer?\n", stderr);
    std::abort();
  }
  return 0;
}
