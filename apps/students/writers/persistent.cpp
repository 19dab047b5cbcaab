// The four threads of as_published written correctly: no thread holds a mutex while writing, the
// files stay open, and no line is flushed. Protocol: protocols.md.
#include <condition_variable>
#include <exception>
#include <mutex>

#include "../crew.hpp"
#include "../lines.hpp"
#include "../writer.hpp"

namespace students {
namespace {

class Persistent {
 public:
  explicit Persistent(const Job& job) : job_(job), buffers_(job.plan), files_(job) {}
  Persistent(const Persistent&) = delete;
  Persistent& operator=(const Persistent&) = delete;

  ~Persistent() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    start_.notify_all();
  }

  void run() {
    for (std::size_t i = 0; i < kFiles; ++i) {
      writers_.start([this, i] { serve(static_cast<File>(i)); });
    }
    for_each_block(job_, buffers_, [this](std::uint64_t block) { flush(block); });
    files_.close();
  }

 private:
  void flush(std::uint64_t block) {
    std::unique_lock lock(mutex_);
    block_ = block;
    pending_ = kFiles;
    ++round_;
    start_.notify_all();
    finished_.wait(lock, [this] { return pending_ == 0; });
    if (failure_) std::rethrow_exception(failure_);
  }

  void serve(File file) {
    std::uint64_t last_round = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
      start_.wait(lock, [&] { return round_ != last_round || ending_; });
      if (ending_) return;
      last_round = round_;
      const std::uint64_t block = block_;
      lock.unlock();
      std::exception_ptr failure;
      try {
        files_.save(buffers_, file, block);
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      if (failure && !failure_) failure_ = failure;
      if (--pending_ == 0) finished_.notify_one();
    }
  }

  const Job& job_;
  Buffers buffers_;
  OpenFiles files_;
  std::mutex mutex_;  // of all that follows, but for writers_
  std::condition_variable start_;
  std::condition_variable finished_;
  std::uint64_t round_ = 0;
  std::size_t pending_ = 0;
  std::uint64_t block_ = 0;
  bool ending_ = false;
  std::exception_ptr failure_;
  Crew writers_;  // last, so that its threads are joined before what they use is gone
};

void run(const Job& job) { Persistent(job).run(); }

const Registration registration({"persistent",
                                 "the same four threads without the lock and the flush", "buffered",
                                 false, 4, run, memory_of_buffers});

}  // namespace
}  // namespace students
