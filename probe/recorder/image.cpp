// The relations of processes according to /proc.
#include "image.hpp"

#include <cstdlib>

namespace threadmark {

namespace {

// The words of stat that follow the name: the state, the parent, ...
std::string stat_of(pid_t pid) {
  const std::string text = read_all(format("/proc/%d/stat", pid).c_str());
  const std::size_t name = text.rfind(") ");
  return name == std::string::npos ? std::string() : text.substr(name + 2);
}

}  // namespace

bool has_ended(pid_t pid) {
  const std::string text = stat_of(pid);
  return text.empty() || text[0] == 'Z' || text[0] == 'X';
}

pid_t parent_of(pid_t pid) {
  const std::string text = stat_of(pid);
  return text.size() < 2 ? 0 : static_cast<pid_t>(std::strtol(text.c_str() + 2, nullptr, 10));
}

ProcessorTicks processor_ticks_of(pid_t pid) {
  // The 14th to 17th words of stat; the state is the 3rd.
  const std::string text = stat_of(pid);
  std::size_t at = 0;
  for (int word = 3; word < 14 && at != std::string::npos; ++word) at = text.find(' ', at + 1);
  if (text.empty() || at == std::string::npos) return {};
  char* end = const_cast<char*>(text.c_str()) + at;
  std::uint64_t words[4];
  for (std::uint64_t& word : words) word = std::strtoull(end, &end, 10);
  return {.own = words[0] + words[1], .children = words[2] + words[3]};
}

void children_of(pid_t pid, pid_t tid, std::vector<pid_t>& to) {
  const std::string text = read_all(format("/proc/%d/task/%d/children", pid, tid).c_str());
  char* at = const_cast<char*>(text.c_str());
  for (;;) {
    char* end = nullptr;
    const long child = std::strtol(at, &end, 10);
    if (end == at) return;
    to.push_back(static_cast<pid_t>(child));
    at = end;
  }
}

}  // namespace threadmark
