// Reading of /proc/PID/task.
#include "tasks.hpp"

#include <sys/syscall.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace threadmark {
namespace {

Descriptor open_in(const Descriptor& folder, pid_t tid, const char* name) {
  char path[64];
  std::snprintf(path, sizeof path, "%d/%s", tid, name);
  return Descriptor(::openat(folder.get(), path, O_RDONLY | O_CLOEXEC));
}

// A small file of /proc as a text that ends; empty when it cannot be read.
template <std::size_t kSize>
bool read_text(const Descriptor& file, char (&text)[kSize]) {
  if (!file) return false;
  const ssize_t got = ::pread(file.get(), text, kSize - 1, 0);
  text[got > 0 ? got : 0] = 0;
  return got > 0;
}

}  // namespace

bool Task::open(const Descriptor& folder, pid_t tid) {
  times_ = open_in(folder, tid, "schedstat");
  if (!times_) return false;
  stat_ = open_in(folder, tid, "stat");
  call_ = open_in(folder, tid, "syscall");
  sees_calls_ = static_cast<bool>(call_);
  return static_cast<bool>(stat_);
}

void Task::close() {
  stat_.close();
  times_.close();
  call_.close();
}

bool Task::read_times(KernelView& view) const {
  char text[128];
  if (!read_text(times_, text)) return false;
  char* end = nullptr;
  view.run_ns = std::strtoull(text, &end, 10);
  view.ready_ns = std::strtoull(end, &end, 10);
  view.slices = std::strtoull(end, &end, 10);
  view.run_ns -= std::min(view.run_ns, before_.run_ns);
  view.ready_ns -= std::min(view.ready_ns, before_.ready_ns);
  return true;
}

void Task::count_from_now() {
  before_ = {};
  KernelView now;
  if (read_times(now)) before_ = now;
}

bool Task::read(KernelView& view) {
  const std::uint64_t slices = view.slices;
  if (!read_times(view)) return false;
  const bool blocked = view.state == 'S' || view.state == 'D';
  if (blocked && view.slices == slices) return true;

  char text[512];
  view.call = -1;
  view.sp = view.pc = 0;
  if (call_ && read_text(call_, text)) {
    if (std::strncmp(text, "running", 7) == 0) {
      view.state = 'R';
      return true;
    }
    char* at = nullptr;
    view.call = static_cast<int>(std::strtol(text, &at, 10));
    if (view.call >= 0) {
      for (std::size_t i = 0; i < 6; ++i) {
        const std::uint64_t argument = std::strtoull(at, &at, 16);
        if (i < 2) view.arguments[i] = argument;
      }
    }
    view.sp = std::strtoull(at, &at, 16);
    view.pc = std::strtoull(at, &at, 16);
  } else if (call_) {
    sees_calls_ = errno != EACCES && errno != EPERM;
  }
  if (!read_text(stat_, text)) return false;
  const char* after = std::strrchr(text, ')');
  if (after == nullptr || after[1] != ' ') return false;
  view.state = after[2];
  return true;
}

std::string Task::name() {
  char text[512];
  if (!read_text(stat_, text)) return {};
  const char* begin = std::strchr(text, '(');
  const char* end = std::strrchr(text, ')');
  if (begin == nullptr || end == nullptr || end < begin) return {};
  return {begin + 1, end};
}

Use Task::used() {
  constexpr int kFaults = 10, kKernelTicks = 15;  // fields of stat, from 1
  static const auto ticks_in_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  char text[512];
  if (!read_text(stat_, text)) return {};
  const char* at = std::strrchr(text, ')');
  std::uint64_t faults = 0;
  for (int field = 2; at != nullptr && field < kKernelTicks; ++field) {
    if (field == kFaults) faults = std::strtoull(at, nullptr, 10);
    at = std::strchr(at + 1, ' ');
  }
  if (at == nullptr) return {};
  return {faults, std::strtoull(at, nullptr, 10) * (1'000'000'000U / ticks_in_second)};
}

bool list_tasks(const Descriptor& folder, std::vector<pid_t>& tids) {
  struct Entry {  // in the layout of getdents64
    std::uint64_t inode;
    std::int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[1];
  };
  tids.clear();
  if (::lseek(folder.get(), 0, SEEK_SET) < 0) return false;
  alignas(8) char buffer[16384];
  for (;;) {
    const long got = ::syscall(SYS_getdents64, folder.get(), buffer, sizeof buffer);
    if (got <= 0) return got == 0 && !tids.empty();
    for (long at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const Entry*>(buffer + at);
      const int tid = std::atoi(entry->name);
      if (tid > 0) tids.push_back(tid);
      at += entry->length;
    }
  }
}

}  // namespace threadmark
