// fix: omp-passive
// build: -fopenmp
// alone: omp-passive
// why: A thread of OpenMP spins while another one works alone, and the writer has no processor.
#include <condition_variable>
#include <mutex>

#include "threads.hpp"

// Works in a thread of its own, behind the others by two steps at most.
class Writer {
 public:
  Writer() : thread_([this] { run(); }) {}
  ~Writer() {
    step(-1);
    thread_.join();
  }
  void step(int by = 1) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return waiting_ < 2; });
    waiting_ = by < 0 ? -1 : waiting_ + 1;
    changed_.notify_all();
  }

 private:
  void run() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return waiting_ != 0; });
      if (waiting_ < 0) return;
      lock.unlock();
      work(2'000'000);
      lock.lock();
      --waiting_;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;
  std::thread thread_;
};

int main() {
  Writer writer;
  for (int step = 0; step < 150; ++step) {
#pragma omp parallel for num_threads(2)
    for (int part = 0; part < 2; ++part) work(1'000'000);
    writer.step();
    work(2'000'000);
  }
}
