// The memory that the agent shares with the recorder, read without trust in its contents.
// shared.hpp and protocol.md give the meaning of its words.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "probe/shared.hpp"
#include "system.hpp"

namespace threadmark {

// A thread's words at one moment.
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
  std::string path() const;  // for the target to open it
  bool attached() const { return made() && shared_->attached.load() != 0; }
  Shared& shared() { return *shared_; }
  bool is_mapped_by(pid_t pid) const;

  // Reads words that belong together; false if the thread was changing them.
  static bool wait_of(const Thread& thread, AgentWait& wait);
  // The frames of an agent's stack; none if it is not known or not whole.
  std::vector<std::uint64_t> frames_of(StackId id) const;

  // Calls `each` with the indices of the entries of a table whose memory was ever written. Reading
  // the other entries would make the kernel allocate memory for them.
  void for_each_written(const void* table, std::size_t entry_bytes, std::size_t entries,
                        const std::function<void(std::size_t)>& each) const;

 private:
  Shared* shared_ = nullptr;
  Descriptor file_;
};

}  // namespace threadmark
