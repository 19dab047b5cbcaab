// Prints the recorder's reading of the texts about a tracepoint. The input has lines like those of
// /proc/self/mounts, an empty line, and then the text of a file `format`.
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

#include "probe/recorder/tracepoints.hpp"

int main() {
  std::string mounts;
  std::string line;
  while (std::getline(std::cin, line) && !line.empty()) mounts += line + '\n';
  for (const std::string& folder : threadmark::tracing_folders(mounts)) {
    std::printf("%s\n", folder.c_str());
  }
  const std::string format((std::istreambuf_iterator<char>(std::cin)), {});
  const threadmark::Tracepoint found = threadmark::tracepoint_of(format);
  if (!found.known()) return std::puts("unknown") < 0;
  std::printf("%llu flags %zu waker %zu woken %zu\n",
              static_cast<unsigned long long>(found.id),  // NOLINT
              found.flags, found.waker, found.woken);
}
