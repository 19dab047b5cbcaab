// The published writer: four threads take turns under one mutex, which each keeps while it writes
// and flushes every line. This version keeps the faults in speed, but not the data races.
// take_turns lacks one fault and turns_unflushed two, so that the cost of each can be measured.
// Protocol: protocols.md.
#include <array>
#include <condition_variable>
#include <exception>
#include <mutex>

#include "../crew.hpp"
#include "../lines.hpp"
#include "../writer.hpp"

namespace students {
namespace {

// kSleeps: a writer that has saved sleeps until the next block. `save(buffers, file, block)` saves.
template <bool kSleeps, typename Save>
class Published {
 public:
  Published(const Job& job, Save save) : job_(job), buffers_(job.plan), save_(save) {}
  Published(const Published&) = delete;
  Published& operator=(const Published&) = delete;

  ~Published() {
    {
      const std::lock_guard lock(write_mutex_);
      ending_ = true;
    }
    start_.notify_all();
  }

  void run() {
    for (std::size_t i = 0; i < kFiles; ++i) {
      writers_.start([this, i] { save_data(static_cast<File>(i)); });
    }
    for_each_block(job_, buffers_, [this](std::uint64_t block) { flush(block); });
  }

 private:
  void flush(std::uint64_t block) {
    std::unique_lock lock(write_mutex_);
    block_ = block;
    saved_ = {};
    threads_finished_ = 0;
    start_writing_ = true;
    start_.notify_all();
    finished_.wait(lock, [this] { return threads_finished_ == kFiles; });
    start_writing_ = false;
    if (failure_) std::rethrow_exception(failure_);
  }

  // The loop of a writer. In as_published a writer that has saved its buffer takes and drops the
  // mutex until the main thread gets hold of it: its wait does not sleep while start_writing_ is
  // true.
  void save_data(File file) {
    for (;;) {
      std::unique_lock lock(write_mutex_);
      start_.wait(
          lock, [this, file] { return ending_ || (start_writing_ && !(kSleeps && saved_[file])); });
      if (ending_) return;
      if (saved_[file]) continue;
      try {
        save_(buffers_, file, block_);
      } catch (...) {
        if (!failure_) failure_ = std::current_exception();
      }
      saved_[file] = true;
      if (++threads_finished_ == kFiles) finished_.notify_one();
    }
  }

  const Job& job_;
  Buffers buffers_;
  Save save_;
  std::mutex write_mutex_;  // of all that follows, but for writers_
  std::condition_variable start_;
  std::condition_variable finished_;
  bool start_writing_ = false;
  bool ending_ = false;
  std::size_t threads_finished_ = 0;
  std::array<bool, kFiles> saved_{};
  std::uint64_t block_ = 0;
  std::exception_ptr failure_;
  Crew writers_;  // last, so that its threads are joined before what they use is gone
};

template <bool kSleeps>
void run(const Job& job) {
  const auto save = [&job](Buffers& buffers, File file, std::uint64_t block) {
    save_buffer(job, buffers, file, block);
  };
  Published<kSleeps, decltype(save)>(job, save).run();
}

void run_unflushed(const Job& job) {
  OpenFiles files(job);
  const auto save = [&files](Buffers& buffers, File file, std::uint64_t block) {
    files.save(buffers, file, block);
  };
  Published<true, decltype(save)>(job, save).run();
  files.close();
}

const Registration as_published({"as_published",
                                 "four threads take turns under one mutex (second try)",
                                 "sequential", true, 4, run<false>, memory_of_buffers});
const Registration take_turns({"take_turns", "as_published whose finished threads sleep",
                               "sequential", true, 4, run<true>, memory_of_buffers});
const Registration turns_unflushed({"turns_unflushed",
                                    "take_turns whose files stay open and lines are not flushed",
                                    "buffered", false, 4, run_unflushed, memory_of_buffers});

}  // namespace
}  // namespace students
