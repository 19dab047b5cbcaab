// A hold on the module that the calling code lies in: the program or a library.
#pragma once

#include <dlfcn.h>

#include <atomic>

namespace tmk::detail {

// Weak, so that programs which are linked statically, or without libdl where it is a library of its
// own, need not have them.
extern "C" {
[[gnu::weak]] int weak_dladdr(const void* address, Dl_info* found) __asm__("dladdr");
[[gnu::weak]] void* weak_dlopen(const char* name, int flags) __asm__("dlopen");
}
// Keeps the calling code's module in memory, because threads and the ends of threads run that code:
// dlclose of a plugin would take it from under them. Hidden, so that each module has its own. Never
// under the guard of a static variable: dlopen of another thread may hold the loader's lock and
// wait for the guard in an initialiser.
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
