// Makes and ends threads at full speed: joined, detached, left by pthread_exit.
#include <atomic>

#include "odd.hpp"

int main() {
  std::atomic<int> count{0};
  for (int i = 0; i < 150; ++i) {
    const pthread_t one = begin([&] { ++count; }), two = begin([&] {
                                                     contend(1, 2);
                                                     ++count;
                                                   });
    pthread_t leaver;
    pthread_create(
        &leaver, nullptr,
        [](void* to) -> void* {
          ++*static_cast<std::atomic<int>*>(to);
          pthread_exit(to);
        },
        &count);
    pthread_detach(begin([&] { ++count; }));
    void* result = nullptr;
    pthread_join(leaver, &result);
    if (result != &count) say("another result");
    pthread_join(one, nullptr);
    pthread_join(two, nullptr);
  }
  while (count < 600) sched_yield();
  say("threads %d", count.load());
}
