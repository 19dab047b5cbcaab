// A program that opens plugins, uses them, closes them, and goes on.
//
//   plugin_host count PLUGIN...          how many pools they have, and the program if it uses tmk
//   plugin_host close PLUGIN PLUGIN      prints "alive" if nothing has run in a closed plugin
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string_view>
#include <thread>

namespace {

void* open(const char* path) {
  void* const plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) {
    std::puts(dlerror());
    std::exit(2);
  }
  return plugin;
}
template <class F>
F* find(void* plugin, const char* name) {
  return reinterpret_cast<F*>(dlsym(plugin, name));
}

// The first plugin makes the pool. The second starts its threads, and is closed while they look
// around for more tasks.
void close_after_use(const char* first_path, const char* second_path) {
  void* const first = open(first_path);
  void* const second = open(second_path);
  std::thread([&] { find<const void*()>(first, "pool")(); }).join();
  std::thread([&] {
    if (find<int()>(second, "use")() != 100) std::exit(3);
  }).join();
  dlclose(second);
  dlclose(first);
}

void close_before_the_thread_ends(const char* path) {
  void* const plugin = open(path);
  std::atomic<bool> used = false, closed = false;
  std::thread user([&] {
    find<void()>(plugin, "use_at_thread_exit")();
    used = true;
    while (!closed) std::this_thread::yield();
  });
  while (!used) std::this_thread::yield();
  dlclose(plugin);
  closed = true;
  user.join();
}

}  // namespace

#ifdef HOST_USES_TMK
extern "C" const void* pool();
#endif

int main(int argc, char** argv) {
  if (std::string_view(argv[1]) == "count") {
    std::set<const void*> pools;
#ifdef HOST_USES_TMK
    pools.insert(pool());
#endif
    for (int i = 2; i < argc; ++i) pools.insert(find<const void*()>(open(argv[i]), "pool")());
    std::printf("%zu\n", pools.size());
    return 0;
  }
  for (int round = 0; round < 20; ++round) {
    close_after_use(argv[2], argv[3]);
    close_before_the_thread_ends(argv[3]);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::puts("alive");
}
