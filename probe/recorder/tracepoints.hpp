// The kernel's tracepoint of wakes: its number for perf events and the offsets of its fields. Both
// are in files of tracefs, which may be mounted anywhere or nowhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace threadmark {

struct Tracepoint {
  std::uint64_t id = 0;                         // 0: not known
  std::size_t flags = 0, waker = 0, woken = 0;  // offsets of the fields
  bool known() const { return id != 0; }
};

// The folders in which tracefs may be, from lines like those of /proc/self/mounts.
std::vector<std::string> tracing_folders(std::string_view mounts);
// Reads the text of a file `format`. The result is not known if anything is missing.
Tracepoint tracepoint_of(std::string_view format);
// The tracepoint sched_waking of the running kernel, read at the first call.
const Tracepoint& sched_waking();

}  // namespace threadmark
