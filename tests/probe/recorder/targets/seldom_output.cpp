// Two threads take a mutex for a moment many times, and each hundredth time they write single bytes
// while they have it. The argument is for how many milliseconds.
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
long count = 0;

void write_seldom(int file, std::chrono::steady_clock::time_point end) {
  for (int i = 0; std::chrono::steady_clock::now() < end; ++i) {
    pthread_mutex_lock(&mutex);
    ++count;
    for (int k = 0; i % 100 == 0 && k < 20; ++k)
      if (write(file, "x", 1) != 1) std::abort();
    pthread_mutex_unlock(&mutex);
  }
}

}  // namespace

int main(int, char** arguments) {
  const int file = open("/dev/null", O_WRONLY);
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(std::atoi(arguments[1]));
  std::thread one(write_seldom, file, end), two(write_seldom, file, end);
  one.join();
  two.join();
  return 0;
}
