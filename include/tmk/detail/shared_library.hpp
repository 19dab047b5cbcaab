// A hold on the module of the calling code: the program or a library.
#pragma once

#include <dlfcn.h>

#include <atomic>

namespace tmk::detail {

// Weak, so that programs that are linked statically, or without a separate libdl, need not have
// these functions.
extern "C" {
[[gnu::weak]] int weak_dladdr(const void* address, Dl_info* found) __asm__("dladdr");
[[gnu::weak]] void* weak_dlopen(const char* name, int flags) __asm__("dlopen");
}
// Keeps the calling code's module in memory, because threads and the ends of threads run that code:
// dlclose of a plugin would unmap it while they run it. The function is hidden, so that each module
// has its own. It must not be called under the guard of a static variable, because dlopen of
// another thread may hold the loader's lock and wait for the guard in an initialiser.
[[gnu::visibility("hidden")]] inline void keep_module_loaded() {
  static std::atomic<bool> tried{false};  // no guard: dlopen may run initialisers that come here
  if (tried.load()) return;
  Dl_info module;
  if (weak_dladdr != nullptr && weak_dlopen != nullptr &&
      weak_dladdr(reinterpret_cast<void*>(&keep_module_loaded), &module) != 0) {
    weak_dlopen(module.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  }
  tried.store(true);
}

}  // namespace tmk::detail
