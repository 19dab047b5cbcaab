// fatal() ends the process when going on would be wrong. Assertions call it.
#pragma once

#include <cstdio>
#include <cstdlib>

// The invariants of scheduler.md, checked in programs that define TMK_ASSERTIONS. All sources of a
// program must agree on it.
#ifdef TMK_ASSERTIONS
#define TMK_ASSERT(holds) ((holds) ? void() : ::tmk::detail::fatal(__FILE__ ": " #holds))
#else
#define TMK_ASSERT(holds) static_cast<void>(0)
#endif

namespace tmk::detail {

// Ends the process, because going on would compute something wrong.
[[noreturn, gnu::cold]] inline void fatal(const char* reason) {
  std::fprintf(stderr, "tmk: %s\n", reason);
  std::abort();
}

}  // namespace tmk::detail
