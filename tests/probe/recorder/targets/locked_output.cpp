// Two threads contend for a mutex, and write single bytes while they have it. The arguments are the
// time in milliseconds, the number of holds for each write, and the number of bytes then.
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
long count = 0;

void write_locked(int file, std::chrono::steady_clock::time_point end, int every, int bytes) {
  for (int i = 0; std::chrono::steady_clock::now() < end; ++i) {
    pthread_mutex_lock(&mutex);
    ++count;
    for (int k = 0; i % every == 0 && k < bytes; ++k)
      if (write(file, "x", 1) != 1) std::abort();
    pthread_mutex_unlock(&mutex);
  }
}

}  // namespace

int main(int, char** arguments) {
  const int file = open("/dev/null", O_WRONLY);
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(std::atoi(arguments[1]));
  const int every = std::atoi(arguments[2]), bytes = std::atoi(arguments[3]);
  std::thread one(write_locked, file, end, every, bytes);
  std::thread two(write_locked, file, end, every, bytes);
  one.join();
  two.join();
  return 0;
}
