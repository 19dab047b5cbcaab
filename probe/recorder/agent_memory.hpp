// The memory that the agent shares with the recorder, read without trust in what stands there.
// shared.hpp and protocol.md say what its words mean.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "probe/shared.hpp"
#include "system.hpp"

namespace threadmark {

// What a thread's words said at one moment.
struct AgentWait {
  std::uint32_t activity = 0, object = 0, stack = 0;
  std::int32_t awaited = 0;
  std::uint64_t since_ns = 0;
};

class AgentMemory {
 public:
  AgentMemory() = default;
  AgentMemory(const AgentMemory&) = delete;
  AgentMemory& operator=(const AgentMemory&) = delete;
  ~AgentMemory();

  bool make();  // false, with errno, if there is no such memory
  bool made() const { return shared_ != nullptr; }
  std::string path() const;  // by which the target opens it
  bool attached() const { return made() && shared_->attached.load() != 0; }
  Shared& shared() { return *shared_; }
  bool is_mapped_by(pid_t pid) const;

  // Words that belong together; false if the thread was changing them.
  static bool wait_of(const Thread& thread, AgentWait& wait);
  // The frames of an agent's stack; none if it is not known or not whole.
  std::vector<std::uint64_t> frames_of(StackId id) const;

  // Calls `each` with the indices of those entries of a table whose memory was ever written, so
  // that reading does not make the kernel give memory to the rest.
  void for_each_written(const void* table, std::size_t entry_bytes, std::size_t entries,
                        const std::function<void(std::size_t)>& each) const;

 private:
  Shared* shared_ = nullptr;
  Descriptor file_;
};

}  // namespace threadmark
