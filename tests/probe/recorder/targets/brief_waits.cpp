// Waits for events for a microsecond at a time, a second long, and prints how often a signal
// interrupted that. It gets no signal.
#include <sys/epoll.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <ctime>

int main() {
  const int events = epoll_create1(EPOLL_CLOEXEC);
  const timespec brief{0, 1000};
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  int interrupted = 0;
  while (std::chrono::steady_clock::now() < until) {
    for (int i = 0; i < 100; ++i) {
      epoll_event event{};
      if (epoll_pwait2(events, &event, 1, &brief, nullptr) < 0 && errno == EINTR) ++interrupted;
    }
  }
  std::printf("interrupted %d\n", interrupted);
}
