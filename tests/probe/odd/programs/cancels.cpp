// Cancels threads in each call with a cancellation point, some of which the agent wraps, and in
// calculations. The cleanups run in their order, and locks are in the right state.
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>

#include <atomic>

#include "odd.hpp"

namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
sem_t semaphore, full;
int pipes[2], sockets[2], listener;
std::atomic<bool> there{false};
std::atomic<int> order{0};

void wait_mutex_free() {
  pthread_mutex_lock(&mutex);
  pthread_cond_wait(&condition, &mutex);
}
void wait_timed() {
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 100;
  pthread_mutex_lock(&mutex);
  pthread_cond_timedwait(&condition, &mutex, &until);
}

const struct {
  const char* name;
  void (*wait)();
} kWaits[] = {
    {"pthread_cond_wait", wait_mutex_free},
    {"pthread_cond_timedwait", wait_timed},
    {"sem_wait", [] { sem_wait(&semaphore); }},
    {"sem_wait, free",
     [] {
       for (;;) {
         sem_wait(&full);
         sem_post(&full);
       }
     }},
    {"sem_timedwait",
     [] {
       timespec until{};
       clock_gettime(CLOCK_REALTIME, &until);
       until.tv_sec += 100;
       sem_timedwait(&semaphore, &until);
     }},
    {"read",
     [] {
       char byte;
       if (read(pipes[0], &byte, 1) > 0) say("read");
     }},
    {"recv",
     [] {
       char byte;
       recv(sockets[0], &byte, 1, 0);
     }},
    {"accept", [] { accept(listener, nullptr, nullptr); }},
    {"poll",
     [] {
       pollfd file{pipes[0], POLLIN, 0};
       poll(&file, 1, -1);
     }},
    {"select",
     [] {
       fd_set set;
       FD_ZERO(&set);
       FD_SET(pipes[0], &set);
       select(pipes[0] + 1, &set, nullptr, nullptr, nullptr);
     }},
    {"epoll_wait",
     [] {
       const int file = epoll_create1(EPOLL_CLOEXEC);
       pthread_cleanup_push([](void* to) { close(*static_cast<int*>(to)); },
                            const_cast<int*>(&file));
       epoll_event event{};
       epoll_wait(file, &event, 1, -1);
       pthread_cleanup_pop(1);
     }},
    {"nanosleep", [] { sleep_us(100'000'000); }},
    {"sleep", [] { sleep(100); }},
    {"usleep", [] { usleep(100'000'000); }},
    {"pause", [] { pause(); }},
    {"pthread_join",
     [] {
       const pthread_t other = begin([] { sleep_us(100'000'000); });
       pthread_cleanup_push(
           [](void* to) {
             pthread_cancel(*static_cast<pthread_t*>(to));
             pthread_join(*static_cast<pthread_t*>(to), nullptr);
           },
           const_cast<pthread_t*>(&other));
       pthread_join(other, nullptr);
       pthread_cleanup_pop(1);
     }},
    {"testcancel",
     [] {
       for (;;) pthread_testcancel();
     }},
    {"calculation",
     [] {
       pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
       for (;;) {
       }
     }},
};

void* routine(void* which) {
  const auto& of = kWaits[reinterpret_cast<std::uintptr_t>(which)];
  int outer = 0, inner = 0;
  pthread_cleanup_push(
      [](void* to) {
        *static_cast<int*>(to) = ++order;
        say("outer %d", *static_cast<int*>(to));
      },
      &outer);
  pthread_cleanup_push([](void* to) { *static_cast<int*>(to) = ++order; }, &inner);
  there = true;
  of.wait();
  pthread_cleanup_pop(1);
  pthread_cleanup_pop(1);
  return nullptr;
}

}  // namespace

int main() {
  sem_init(&semaphore, 0, 0);
  sem_init(&full, 0, 1);
  if (pipe(pipes) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) return 3;
  listener = socket(AF_UNIX, SOCK_STREAM, 0);
  if (bind(listener, nullptr, 0) == 0 || listen(listener, 1) != 0) {
    // The kernel gives an abstract name.
    const sa_family_t family = AF_UNIX;
    bind(listener, reinterpret_cast<const sockaddr*>(&family), sizeof family);
    listen(listener, 1);
  }
  for (std::size_t i = 0; i < sizeof kWaits / sizeof *kWaits; ++i) {
    there = false;
    order = 0;
    pthread_t thread;
    pthread_create(&thread, nullptr, routine, reinterpret_cast<void*>(i));
    while (!there) sched_yield();
    sleep_us(500);
    pthread_cancel(thread);
    void* result = nullptr;
    pthread_join(thread, &result);
    const bool free = pthread_mutex_trylock(&mutex) == 0;
    say("%s: cancelled %d, cleanups %d, mutex free %d", kWaits[i].name, result == PTHREAD_CANCELED,
        order.load(), free);
    pthread_mutex_unlock(&mutex);  // which a cancelled wait for a condition took again
  }
}
