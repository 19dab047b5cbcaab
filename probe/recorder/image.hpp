// One program in one process, from the recorder's side: its maps, the unwinding of its stacks, and
// the folder with its threads.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "entries.hpp"
#include "modules.hpp"
#include "probe/shared.hpp"
#include "system.hpp"
#include "unwinding.hpp"

namespace threadmark {

struct WatchedImage {
  WatchedImage(std::uint64_t id, pid_t process, std::uint64_t at_ns, std::uint64_t& last_module,
               TablesOfFiles& files)
      : entry{.id = id, .pid = static_cast<std::uint64_t>(process), .from_ns = at_ns},
        pid(process),
        modules(process, id, last_module),
        unwinding(modules, files) {}
  WatchedImage(const WatchedImage&) = delete;
  WatchedImage& operator=(const WatchedImage&) = delete;

  ImageEntry entry;
  const pid_t pid;
  Modules modules;
  Unwinding unwinding;
  Descriptor folder;  // /proc/PID/task
  std::vector<pid_t> tids;
  bool live = true;       // the process still runs this program
  bool executed = false;  // it is known to have begun with exec
  bool has_agent = false;
  bool changed = true, written = false;  // written: all of its modules are
  bool maps_stale = true;
  ImageId number = 0;  // of the agent; 0: it has none yet
  std::uint64_t until_ns = ~std::uint64_t{0};
  std::uint64_t next_maps_ns = 0, looks = 0;
};

// Whether the process is gone, or only waits for its parent to take its status.
bool has_ended(pid_t pid);
// The parent of this process according to /proc; 0 if the process has ended.
pid_t parent_of(pid_t pid);
// Processor time in ticks of the clock: of a process itself, and of the children that it waited
// for.
struct ProcessorTicks {
  std::uint64_t own = 0, children = 0;
};
ProcessorTicks processor_ticks_of(pid_t pid);
// The living processes that a thread made.
void children_of(pid_t pid, pid_t tid, std::vector<pid_t>& to);

}  // namespace threadmark
