// preload: count_calls
// The user's own preloaded library counts calls. The program sees the library, its variable and its
// counts the same as alone. The library sees the calls that the program makes.
#include <dlfcn.h>

#include <fstream>
#include <string>

#include "odd.hpp"

extern char** environ;

int main() {
  for (char** at = environ; *at != nullptr; ++at) {
    const char* end = std::strrchr(*at, '/');
    const bool preload = std::strncmp(*at, "LD_PRELOAD=", 11) == 0;
    say("%s%s", preload ? "LD_PRELOAD ... " : "", preload && end != nullptr ? end + 1 : *at);
  }
  std::ifstream variables("/proc/self/environ");
  for (std::string each; std::getline(variables, each, '\0');) say("seen %s", each.c_str());
  using Count = long(int);
  auto* count = reinterpret_cast<Count*>(dlsym(RTLD_DEFAULT, "counted_calls"));
  if (count == nullptr) return 3;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  for (int i = 0; i < 100; ++i) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  }
  for (int i = 0; i < 10; ++i) pthread_join(begin([] {}), nullptr);
  for (int i = 0; i < 20; ++i) getppid();
  say("unlocks %ld, creations %ld, other calls %ld, locks %ld, tries %ld", count(0), count(1),
      count(2), count(3), count(4));
}
