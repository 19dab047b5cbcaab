// The host in which ThreadSanitizer checks the agent itself. The agent's sources are compiled with
// ThreadSanitizer into this program under other names. work.cpp calls them, not the C library.
//
// The agent finds the real functions by hosted_dlsym: those of ThreadSanitizer, which precede the C
// library's. So ThreadSanitizer sees the locks of the work, and all uses of the agent's words. A
// report ends the program with status 66.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "probe/agent/state.hpp"

using threadmark::Activity;
using threadmark::Shared;
using threadmark::Thread;

// Both the agent and ThreadSanitizer want to be the last at the end of a thread. The agent counts
// the rounds from 1. Here it is one round earlier, because it cannot run without ThreadSanitizer.
extern "C" int hosted_setspecific(pthread_key_t key, const void* value) {
  const auto round = reinterpret_cast<std::uintptr_t>(value);
  return pthread_setspecific(key, reinterpret_cast<const void*>(round == 1 ? 2 : round));
}

// The agent looks for the next definition, and this program's own is ThreadSanitizer's.
extern "C" void* hosted_dlsym(void*, const char* name) {
  if (std::strcmp(name, "pthread_setspecific") == 0)
    return reinterpret_cast<void*>(&hosted_setspecific);
  return dlsym(RTLD_DEFAULT, name);
}
extern "C" void* hosted_dlvsym(void*, const char* name, const char*) {
  return dlsym(RTLD_DEFAULT, name);
}

extern "C" void work(const char* plugin);

namespace {

// Like the recorder, looks at all threads, and frees the slots of ended ones.
void record(Shared& shared, const std::atomic<bool>& over) {
  while (!over) {
    for (std::uint32_t i = 0; i < shared.threads_used; ++i) {
      Thread& thread = shared.threads[i];
      if (thread.use == Thread::ended) thread.use = Thread::free;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

[[noreturn]] void begin_with_memory(char** words) {
  const int file = memfd_create("hosted", 0);
  if (file < 0 || ftruncate(file, sizeof(Shared)) != 0) std::abort();
  auto* shared = static_cast<Shared*>(
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  shared->magic = threadmark::kMagic;
  shared->version = threadmark::kVersion;
  shared->size_checked = static_cast<std::uint32_t>(sizeof(Shared));
  setenv("HOSTED", "1", 1);
  // The agent removes the last two variables, which stand in this order.
  unsetenv("LD_PRELOAD");
  setenv("LD_PRELOAD", "", 1);
  setenv("THREADMARK_PROBE", ("/proc/self/fd/" + std::to_string(file)).c_str(), 1);
  execv("/proc/self/exe", words);
  std::abort();
}

}  // namespace

int main(int, char** words) {
  if (std::getenv("HOSTED") == nullptr) begin_with_memory(words);
  Shared* shared = threadmark::agent::shared();
  if (shared == nullptr || shared->attached != 1) {
    std::puts("the agent is not attached");
    return 3;
  }
  std::atomic<bool> over{false};
  std::thread recorder([&] { record(*shared, over); });
  work(words[1]);
  over = true;
  recorder.join();
  // If the agent saw no waits of the work, the test tested nothing.
  unsigned kinds = 0, stacks = 0;
  for (const threadmark::Object& object : shared->objects)
    if (object.waits != 0) kinds |= 1U << ((object.key >> 56) - 1);
  for (const threadmark::Stack& stack : shared->stacks) stacks += stack.depth > 1;
  std::printf("kinds %x, stacks %s\n", kinds, stacks > 10 ? "many" : "few");
  // All kinds except once, because ThreadSanitizer uses its words differently from the C library.
  constexpr unsigned kSeen = 0x3ffU ^ 1U << static_cast<unsigned>(threadmark::ObjectKind::once);
  return (kinds & kSeen) == kSeen && stacks > 10 ? 0 : 4;
}
