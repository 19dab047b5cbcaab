// The kernel's tracepoint of wakes: its number for perf events and where its fields lie. Both are
// in files of tracefs, which may be mounted anywhere or nowhere.
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

// Where tracefs may be found, from lines as those of /proc/self/mounts.
std::vector<std::string> tracing_folders(std::string_view mounts);
// From the text of a file `format`; one that is not known where anything is missing.
Tracepoint tracepoint_of(std::string_view format);
// The tracepoint sched_waking of the kernel that runs, read at the first call.
const Tracepoint& sched_waking();

}  // namespace threadmark
