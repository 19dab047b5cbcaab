// The first thread ends long before the other one, which ends the process with status 5.
#include <pthread.h>
#include <unistd.h>

#include <cstdlib>

int main() {
  pthread_t other;
  const auto last = [](void*) -> void* {
    usleep(400'000);
    if (write(1, "last\n", 5) == 5) _exit(5);
    return nullptr;
  };
  if (pthread_create(&other, nullptr, last, nullptr) != 0) return 1;
  pthread_exit(nullptr);
}
