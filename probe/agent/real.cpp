// Looking up the wrapped functions. dlsym is bound to its oldest version, so that the agent needs
// no newer C library than its target.
#include "probe/agent/real.hpp"

#include <dlfcn.h>

#if defined(__aarch64__)
__asm__(".symver dlsym, dlsym@GLIBC_2.17");
#else
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");
#endif

namespace threadmark::agent {

constinit Real table{};

// Twice at the same time gives the same pointers. A malloc of the target's own that locks while
// dlsym runs comes back here, and finds what is looked up so far: the mutex comes first.
void resolve() {
  static constinit thread_local bool resolving [[gnu::tls_model("initial-exec")]] = false;
  if (resolving) return;
  resolving = true;
#define THREADMARK_LOOK_UP(name, result, parameters) \
  table.name = reinterpret_cast<result(*) parameters>(dlsym(RTLD_NEXT, #name));
  THREADMARK_REAL(THREADMARK_LOOK_UP)
#undef THREADMARK_LOOK_UP
  resolving = false;
}

}  // namespace threadmark::agent
