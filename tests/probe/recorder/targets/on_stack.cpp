// Two threads wait for a mutex that lies in the frame of a function below other functions.
#include <pthread.h>
#include <unistd.h>

#include <thread>

[[gnu::noinline]] void wait_for_both(std::thread& one, std::thread& other) {
  one.join();
  other.join();
}

[[gnu::noinline]] void own_the_lock() {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  const auto work = [&mutex] {
    for (int i = 0; i < 300; ++i) {
      pthread_mutex_lock(&mutex);
      usleep(1000);
      pthread_mutex_unlock(&mutex);
    }
  };
  std::thread one(work), other(work);
  wait_for_both(one, other);
}

int main() {
  own_the_lock();
  return 0;
}
