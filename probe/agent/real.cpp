// The look-up of the wrapped functions. dlsym is bound to its oldest version, so that the agent
// needs no newer C library than its target.
#include "probe/agent/real.hpp"

#include <dlfcn.h>

#if defined(__aarch64__)
__asm__(".symver dlsym, dlsym@GLIBC_2.17");
#else
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");
__asm__(".symver dlvsym, dlvsym@GLIBC_2.2.5");
#endif

namespace threadmark::agent {

constinit Real table{};

#if defined(__x86_64__)
constinit OldConditions old_conditions{};

namespace {

template <class Function>
void look_up_old(Function*& to, const char* name) {
  to = reinterpret_cast<Function*>(dlvsym(RTLD_NEXT, name, "GLIBC_2.2.5"));
}

}  // namespace
#endif

// Two calls at the same time write the same pointers. If the target's own malloc locks a mutex
// while dlsym runs, it calls this function again and finds the pointers that are already there: so
// the mutex functions come first.
void resolve() {
  static constinit thread_local bool resolving [[gnu::tls_model("initial-exec")]] = false;
  if (resolving) return;
  resolving = true;
#define THREADMARK_LOOK_UP(name, result, parameters) \
  table.name = reinterpret_cast<result(*) parameters>(dlsym(RTLD_NEXT, #name));
  THREADMARK_REAL(THREADMARK_LOOK_UP)
#undef THREADMARK_LOOK_UP
#if defined(__x86_64__)
  look_up_old(old_conditions.wait, "pthread_cond_wait");
  look_up_old(old_conditions.timedwait, "pthread_cond_timedwait");
  look_up_old(old_conditions.signal, "pthread_cond_signal");
  look_up_old(old_conditions.broadcast, "pthread_cond_broadcast");
#endif
  resolving = false;
}

}  // namespace threadmark::agent
