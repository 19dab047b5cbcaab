// build: plugin
// Loads and unloads a library again and again while threads wait in it and in the program. The
// library's constructor and destructor run each time, and an unloaded library is really gone.
#include <dlfcn.h>
#include <link.h>

#include <string>

#include "odd.hpp"

namespace {

using Work = long(int);

unsigned long long loaded() {
  unsigned long long adds = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* about, std::size_t, void* to) {
        *static_cast<unsigned long long*>(to) = about->dlpi_adds - about->dlpi_subs;
        return 1;
      },
      &adds);
  return adds;
}

}  // namespace

int main(int, char** words) {
  const std::string path = std::string(words[0]) + ".plugin";
  const unsigned long long before = loaded();
  long sum = 0;
  for (int i = 0; i < 15; ++i) {
    void* handle = dlopen(path.c_str(), i % 2 == 0 ? RTLD_NOW : RTLD_LAZY);
    if (handle == nullptr) {
      say("%s", dlerror());
      return 3;
    }
    auto* work = reinterpret_cast<Work*>(dlsym(handle, "work"));
    const pthread_t other = begin([] { contend(2, 50); });
    sum += work(i);
    if (i == 0) say("more libraries while it is there: %llu", loaded() - before);
    pthread_join(other, nullptr);
    if (dlclose(handle) != 0) return 4;
    if (dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD) != nullptr) say("it is still there");
  }
  void* no = dlopen("no-such-library.so", RTLD_NOW);
  say("sum %ld, more libraries at the end %llu, of a wrong name %s", sum, loaded() - before,
      no == nullptr ? dlerror() : "found");
}
