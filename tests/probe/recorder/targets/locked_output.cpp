// Two threads write single bytes all the time, with a mutex that both want. The argument is for how
// many milliseconds.
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void write_all(int file, std::chrono::steady_clock::time_point end) {
  while (std::chrono::steady_clock::now() < end) {
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < 500; ++i)
      if (write(file, "x", 1) != 1) std::abort();
    pthread_mutex_unlock(&mutex);
  }
}

}  // namespace

int main(int, char** arguments) {
  const int file = open("/dev/null", O_WRONLY);
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(std::atoi(arguments[1]));
  std::thread one(write_all, file, end), two(write_all, file, end);
  one.join();
  two.join();
  return 0;
}
