// Finds the tracepoint of wakes in tracefs.
#include "tracepoints.hpp"

#include <charconv>

#include "system.hpp"

namespace threadmark {
namespace {

constexpr std::size_t kNowhere = ~std::size_t{0};

// Cuts off and returns the text before a character.
std::string_view take_until(std::string_view& text, char end) {
  const std::string_view part = text.substr(0, text.find(end));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

std::size_t number_after(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  std::size_t value = kNowhere;
  if (at == std::string_view::npos) return value;
  text.remove_prefix(at + word.size());
  while (text.starts_with(' ')) text.remove_prefix(1);
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// The offset of a field of `size` bytes.
std::size_t offset_of(std::string_view format, std::string_view name, std::size_t size) {
  while (!format.empty()) {
    const std::string_view line = take_until(format, '\n');
    const std::size_t end = line.find(';');
    if (line.find("field:") == std::string_view::npos || end == std::string_view::npos) continue;
    const std::string_view declared = line.substr(0, end);
    if (!declared.ends_with(name) || declared[declared.size() - name.size() - 1] != ' ') continue;
    if (number_after(line, "size:") == size) return number_after(line, "offset:");
  }
  return kNowhere;
}

}  // namespace

std::vector<std::string> tracing_folders(std::string_view mounts) {
  std::vector<std::string> own, of_debugfs;
  while (!mounts.empty()) {
    std::string_view line = take_until(mounts, '\n');
    take_until(line, ' ');
    const std::string folder(take_until(line, ' '));
    const std::string_view type = take_until(line, ' ');
    if (type == "tracefs") own.push_back(folder);
    if (type == "debugfs") of_debugfs.push_back(folder + "/tracing");
  }
  own.insert(own.end(), of_debugfs.begin(), of_debugfs.end());
  return own;
}

Tracepoint tracepoint_of(std::string_view format) {
  Tracepoint found;
  found.flags = offset_of(format, "common_flags", 1);
  found.waker = offset_of(format, "common_pid", 4);
  found.woken = offset_of(format, "pid", 4);
  const std::size_t id = number_after(format, "ID:");
  const bool whole = found.flags != kNowhere && found.waker != kNowhere &&
                     found.woken != kNowhere && id != kNowhere;
  if (whole) found.id = id;
  return found;
}

const Tracepoint& sched_waking() {
  static const Tracepoint found = [] {
    for (const std::string& folder : tracing_folders(read_all("/proc/self/mounts"))) {
      const std::string file = folder + "/events/sched/sched_waking/format";
      if (const Tracepoint made = tracepoint_of(read_all(file.c_str())); made.known()) return made;
    }
    return Tracepoint();
  }();
  return found;
}

}  // namespace threadmark
