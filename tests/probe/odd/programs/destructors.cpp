// Ends of threads with destructors of keys that set their key again, thread_local objects that
// lock, and pthread_exit in the middle. All run in the same order and equally often as alone.
#include <atomic>
#include <mutex>

#include "odd.hpp"

namespace {

pthread_key_t keys[3];
std::atomic<int> ran{0};
std::mutex mutex;

void again(void* value) {
  const auto times = reinterpret_cast<std::uintptr_t>(value);
  say("key with %zu", times);
  contend(2, 20);
  ++ran;
  if (times < 6) pthread_setspecific(keys[times % 3], reinterpret_cast<void*>(times + 1));
}

struct Own {
  ~Own() {
    const std::lock_guard lock(mutex);
    say("thread_local");
  }
  int word = 0;
};
thread_local Own own;

}  // namespace

int main() {
  for (pthread_key_t& key : keys) pthread_key_create(&key, again);
  for (int i = 0; i < 3; ++i) {
    pthread_t thread;
    pthread_create(
        &thread, nullptr,
        [](void* how) -> void* {
          own.word = 1;
          pthread_setspecific(keys[0], reinterpret_cast<void*>(1));
          pthread_setspecific(keys[2], reinterpret_cast<void*>(4));
          contend(2, 20);
          if (how != nullptr) pthread_exit(nullptr);
          return nullptr;
        },
        reinterpret_cast<void*>(static_cast<std::uintptr_t>(i % 2)));
    pthread_join(thread, nullptr);
  }
  say("ran %d", ran.load());
}
