// fix: one-processor
// also: waking a thread on the same processor takes less, whatever it waits for
// why: A request and its answer each wake a thread, which takes longer on the other processor.
#include <condition_variable>
#include <mutex>

#include "threads.hpp"

namespace {

struct Request {
  std::condition_variable answered;
  bool done = false;
};

std::mutex mutex;
std::condition_variable asked;
Request* request = nullptr;
bool over = false;

void serve() {
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    asked.wait(lock, [] { return over || request != nullptr; });
    if (request == nullptr) return;
    work(500);
    request->done = true;
    request->answered.notify_one();
    request = nullptr;
  }
}

}  // namespace

int main() {
  std::thread server(serve);
  for (int i = 0; i < 25'000; ++i) {
    Request mine;
    std::unique_lock<std::mutex> lock(mutex);
    request = &mine;
    asked.notify_one();
    mine.answered.wait(lock, [&mine] { return mine.done; });
  }
  {
    std::lock_guard<std::mutex> held(mutex);
    over = true;
  }
  asked.notify_one();
  server.join();
}
