// The modules of the process with their unwind tables, from /proc/self/maps. The agent reads the
// maps with raw system calls, seldom and only when a pc is in no known module, because
// dl_iterate_phdr takes a lock that the target may hold. After dlclose the loader tells which
// modules are gone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "probe/unwind/frame_table.hpp"

namespace threadmark::agent {

struct Region {
  std::uint64_t low = 0, high = 0;
  // The place of the first byte in the file or memory, which other processes may have mapped too;
  // the file is a hash in the upper bits. 0: the mapping is private.
  std::uint64_t shared = 0;
};

// Reads the maps for the first time, while the process has one thread.
void read_modules();

// The mapping of `address` in the maps, or an empty region.
Region region_of(std::uint64_t address);

// Whether `pc` is the agent's own code.
bool is_own(std::uint64_t pc);

// From now on the agent makes no system calls, because a filter may kill the process for them.
void be_quiet();
[[nodiscard]] bool is_quiet();

// A walk's view of the modules. While the object lives, the wrapper of dlclose waits. A walk that
// begins during another thread's dlclose sees only modules that are never unloaded.
class Modules {
 public:
  Modules();
  ~Modules();
  Modules(const Modules&) = delete;
  Modules& operator=(const Modules&) = delete;
  const unwind::Module* find(std::uint64_t pc);
  // Whether a later walk from the same place may find more.
  [[nodiscard]] bool is_partial() const { return partial_; }

 private:
  const unwind::Module* last_ = nullptr;
  bool all_, asked_ = false, partial_ = false;
};

// Called around the real dlclose: no walk reads tables that go away meanwhile.
void begin_unloading();
void end_unloading();

}  // namespace threadmark::agent
