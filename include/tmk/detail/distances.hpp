// The distances between processors according to /sys, by the core, the caches and the memory that
// they share. If a file is missing or unreadable, all processors count as sharing that level.
#pragma once

#include <sched.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <system_error>

namespace tmk::detail {

// The numbers in a file with a list such as "0-3,8". Parsing stops at the first text that is no
// list.
[[gnu::noinline, gnu::cold]] inline cpu_set_t numbers_in(const std::string& name) {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::string text;
  std::ifstream file(name);
  std::getline(file, text);
  const char* const end = text.data() + text.size();
  for (const char* at = text.data();; ++at) {
    unsigned first = 0;
    auto number = std::from_chars(at, end, first);
    unsigned last = first;
    if (number.ec == std::errc() && number.ptr != end && *number.ptr == '-') {
      number = std::from_chars(number.ptr + 1, end, last);
    }
    if (number.ec != std::errc()) return set;
    for (unsigned each = first; each <= last && each < CPU_SETSIZE; ++each) CPU_SET(each, &set);
    if ((at = number.ptr) == end || *at != ',') return set;
  }
}

class Distances {
 public:
  static constexpr unsigned kFarthest = 4;

  // The distances between these processors. `root` is a prefix of all file names.
  [[gnu::noinline, gnu::cold]] explicit Distances(const cpu_set_t& processors,
                                                  const std::string& root = "") {
    const std::string system = root + "/sys/devices/system/";
    const cpu_set_t nodes = numbers_in(system + "node/online");
    for (unsigned node = 0; node < kProcessors; ++node) {
      if (!CPU_ISSET(node, &nodes)) continue;
      join(numbers_in(system + "node/node" + std::to_string(node) + "/cpulist"), kNode, node);
    }
    for (unsigned each = 0; each < kProcessors; ++each) {
      if (CPU_ISSET(each, &processors)) read_of(each, system + "cpu/cpu" + std::to_string(each));
    }
    for (unsigned each = 0, before = kFarthest + 1; each < kProcessors && !differ_; ++each) {
      if (!CPU_ISSET(each, &processors)) continue;
      for (unsigned other = 0; other < each && !differ_; ++other) {
        if (!CPU_ISSET(other, &processors)) continue;
        const unsigned now = between(static_cast<int>(each), static_cast<int>(other));
        differ_ = before <= kFarthest && now != before;
        before = now;
      }
    }
  }

  // The distance: 0 is the same core, then the same second cache, then the same third cache, up to
  // kFarthest, another node.
  unsigned between(int one, int other) const {
    const Shared& a = shared_of(one);
    const Shared& b = shared_of(other);
    for (unsigned what = kFarthest; what != 0; --what) {
      if (a[what - 1] != b[what - 1] && a[what - 1] != 0 && b[what - 1] != 0) return what;
    }
    return 0;
  }
  // Whether some pairs of processors lie farther apart than others.
  bool differ() const { return differ_; }

 private:
  static constexpr unsigned kProcessors = CPU_SETSIZE, kCaches = 8;
  // For each level that processors can share: the number of one processor that identifies the
  // shared unit, + 1; 0: unknown.
  enum What : unsigned { kCore, kSecondCache, kThirdCache, kNode };
  using Shared = std::array<std::uint16_t, kFarthest>;

  const Shared& shared_of(int processor) const {
    static constexpr Shared unknown{};
    const auto at = static_cast<std::size_t>(processor);
    return at < shared_.size() ? shared_[at] : unknown;
  }
  void join(const cpu_set_t& all, What what, unsigned name) {
    for (unsigned each = 0; each < kProcessors; ++each) {
      if (!CPU_ISSET(each, &all) || shared_[each][what] != 0) continue;
      shared_[each][what] = static_cast<std::uint16_t>(name + 1);
    }
  }
  // Reads which units one processor shares with others. Most entries are set already, by another
  // processor that shares the unit.
  [[gnu::noinline, gnu::cold]] void read_of(unsigned processor, const std::string& folder) {
    const auto read = [&](What what, const std::string& name) {
      const cpu_set_t all = numbers_in(name);
      if (CPU_ISSET(processor, &all)) join(all, what, processor);
    };
    const Shared& known = shared_[processor];
    if (known[kCore] == 0) read(kCore, folder + "/topology/thread_siblings_list");
    for (unsigned cache = 0; cache < kCaches; ++cache) {
      if (known[kSecondCache] != 0 && known[kThirdCache] != 0) return;
      const std::string index = folder + "/cache/index" + std::to_string(cache);
      std::string level;
      std::ifstream file(index + "/level");
      if (!std::getline(file, level)) return;
      if (level == "2" && known[kSecondCache] == 0) read(kSecondCache, index + "/shared_cpu_list");
      if (level == "3" && known[kThirdCache] == 0) read(kThirdCache, index + "/shared_cpu_list");
    }
  }

  std::array<Shared, kProcessors> shared_{};
  bool differ_ = false;
};

}  // namespace tmk::detail
