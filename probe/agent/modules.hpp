// The modules of the process with their unwind tables, as /proc/self/maps has them. It is read with
// raw system calls when a pc is in none, at most every 100 ms, because dl_iterate_phdr takes a lock
// that the target may hold.
#pragma once

#include <cstddef>
#include <cstdint>

#include "probe/unwind/frame_table.hpp"

namespace threadmark::agent {

struct Region {
  std::uint64_t low = 0, high = 0;
};

// Reads the maps for the first time, while the process has one thread.
void read_modules();

// What the maps say of `address`, or nothing.
Region region_of(std::uint64_t address);

// Whether `pc` is the agent's own code.
bool is_own(std::uint64_t pc);

// From now on the agent makes no system call, because a filter may kill the process for it.
void be_quiet();
[[nodiscard]] bool is_quiet();

// What a walk asks. While it lives, the wrapper of dlclose waits.
class Modules {
 public:
  Modules();
  ~Modules();
  Modules(const Modules&) = delete;
  Modules& operator=(const Modules&) = delete;
  [[nodiscard]] bool usable() const { return usable_; }
  const unwind::Module* find(std::uint64_t pc);

 private:
  const unwind::Module* last_ = nullptr;
  bool usable_, asked_ = false;
};

// Around the real dlclose: no walk reads tables that go away meanwhile.
void begin_unloading();
void end_unloading();

}  // namespace threadmark::agent
