// A library whose constructor makes a thread if the program runs `early_thread`, and loads a
// library if it runs `plugins`. The agent does not need this library, so this constructor runs
// before the agent's.
#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <thread>

std::atomic<void (*)()> early_job{nullptr};
void* early_plugin = nullptr;

namespace {

std::thread* early = nullptr;

[[gnu::constructor]] void begin_early(int count, char** arguments, char**) {
  if (count < 2) return;
  if (std::strcmp(arguments[1], "plugins") == 0) early_plugin = dlopen(SMALL_PLUGIN, RTLD_NOW);
  if (std::strcmp(arguments[1], "early_thread") != 0) return;
  early = new std::thread([] {
    while (early_job == nullptr) {  // waits without a call that the agent sees
    }
    early_job.load()();
  });
}

}  // namespace

void join_early() {
  early->join();
  delete early;
}
