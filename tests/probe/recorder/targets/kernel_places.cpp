// Prints the recorder's names for call chains. The input has lines like those of /proc/kallsyms, an
// empty line, and then chains of addresses, innermost first. A chain that begins with "switch" is
// of a thread that leaves its processor.
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "probe/recorder/kernel.hpp"

int main() {
  std::string lines;
  std::string line;
  while (std::getline(std::cin, line) && !line.empty()) lines += line + '\n';
  threadmark::KernelNames names;
  std::printf("%s\n", names.take(lines) ? "known" : "hidden");
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::vector<std::uint64_t> chain;
    bool switched = false;
    for (std::string word; words >> word;) {
      if (word == "switch") {
        switched = true;
      } else {
        chain.push_back(std::stoull(word, nullptr, 16));
      }
    }
    const threadmark::KernelPlace place = names.place(chain, switched);
    constexpr const char* kEntries[] = {"unknown", "call", "fault", "interrupt"};
    std::printf("%s %s %s\n", kEntries[static_cast<unsigned>(place.entry)],
                place.preempted ? "preempted" : "-", std::string(place.sleeps_in).c_str());
  }
}
