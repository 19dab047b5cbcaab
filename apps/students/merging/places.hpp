// The place of each partition in both texts. Protocol: ../merge.md.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

#include "join.hpp"

namespace students {

class Places {
 public:
  explicit Places(const TextBytes& begin) : end_(begin) {}

  // Waits until all partitions before have their places; nothing when a worker has failed.
  std::optional<TextBytes> take(std::uint64_t partition, const TextBytes& sizes) {
    TextBytes place{};
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return failed_ || turn_ == partition; });
      if (failed_) return std::nullopt;
      place = end_;
      for (std::size_t i = 0; i < sizes.size(); ++i) end_[i] += sizes[i];
      ++turn_;
    }
    changed_.notify_all();
    return place;
  }

  void fail() {
    {
      const std::lock_guard lock(mutex_);
      failed_ = true;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;  // of the members below
  std::condition_variable changed_;
  std::uint64_t turn_ = 0;
  TextBytes end_;
  bool failed_ = false;
};

}  // namespace students
