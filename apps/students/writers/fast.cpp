// Flat texts of whole blocks, which several threads make and write in order. Protocol:
// protocols.md.
#include <algorithm>
#include <array>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>

#include "../crew.hpp"
#include "../interruption.hpp"
#include "../text.hpp"
#include "../writer.hpp"

namespace students {
namespace {

unsigned threads_of(const Plan& plan) {
  return static_cast<unsigned>(std::min<std::uint64_t>(plan.threads, ChunkText::chunks(plan)));
}

// Gives out the chunks and says whose turn it is to write.
class Turns {
 public:
  explicit Turns(std::uint64_t chunks) : chunks_(chunks) {}

  // The next chunk; nothing when all are taken or a worker has failed.
  std::optional<std::uint64_t> take() {
    const std::lock_guard lock(mutex_);
    if (failure_ || next_chunk_ == chunks_) return std::nullopt;
    return next_chunk_++;
  }

  // Waits until this chunk is the next one of the file; false when a worker has failed.
  bool wait(File file, std::uint64_t chunk) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return failure_ || turn_[file] == chunk; });
    return !failure_;
  }

  void pass(File file) {
    {
      const std::lock_guard lock(mutex_);
      ++turn_[file];
    }
    changed_.notify_all();
  }

  void fail(std::exception_ptr failure) {
    {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::move(failure);
    }
    changed_.notify_all();
  }

  // After all workers have ended.
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  const std::uint64_t chunks_;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::uint64_t next_chunk_ = 0;
  std::array<std::uint64_t, kFiles> turn_{};
  std::exception_ptr failure_;
};

void work(const Job& job, Turns& turns) {
  try {
    ChunkText texts(job.plan, job.data);
    while (const std::optional<std::uint64_t> chunk = turns.take()) {
      check_signals();
      const std::uint64_t students = texts.make(*chunk);
      for (std::size_t i = 0; i < kFiles; ++i) {
        const File file = static_cast<File>(i);
        if (!turns.wait(file, *chunk)) return;
        job.output.write(file, texts.text(file));
        turns.pass(file);
      }
      job.progress.advance(students);
    }
  } catch (...) {
    turns.fail(std::current_exception());
  }
}

void run(const Job& job) {
  Turns turns(ChunkText::chunks(job.plan));
  {
    Crew crew;
    try {
      for (unsigned i = 1; i < threads_of(job.plan); ++i) {
        crew.start([&] { work(job, turns); });
      }
    } catch (...) {
      turns.fail(std::current_exception());
    }
    work(job, turns);
  }
  turns.rethrow();
}

std::uint64_t memory_bytes(const Plan& plan) {
  return threads_of(plan) * ChunkText::memory_bytes(plan);
}

const Registration registration({"fast", "flat texts, made and written by --threads threads",
                                 "fast", false, 0, run, memory_bytes});

}  // namespace
}  // namespace students
