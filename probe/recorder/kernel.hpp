// Reads from the kernel's call chain in a sample how the thread came into the kernel, and in which
// function it sleeps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace threadmark {

// The way in which a thread came into the kernel; `interrupt` includes any exception but a page
// fault.
enum class Entry : std::uint32_t { unknown, call, fault, interrupt };

struct KernelPlace {
  Entry entry = Entry::unknown;
  bool preempted = false;      // it switched although it was ready
  std::string_view sleeps_in;  // the function that asked the scheduler to wait; empty: not known
  bool futex = false;          // it is in a futex call
};

class KernelNames {
 public:
  // Takes the kernel's functions from lines like those of /proc/kallsyms. False: the lines have no
  // addresses, because the user may not see them.
  bool take(std::string_view lines);
  bool known() const { return !functions_.empty(); }
  std::string_view name_at(std::uint64_t address);
  // `chain` has the addresses of a sample, innermost first. `switched`: the thread left its
  // processor.
  KernelPlace place(const std::vector<std::uint64_t>& chain, bool switched);
  // The place of a thread that wakes another: an interrupt above its call comes before the call.
  KernelPlace waker(const std::vector<std::uint64_t>& chain);

 private:
  struct Function {
    std::uint64_t address;
    std::uint32_t begin, length;  // of its name in names_
  };
  std::string names_;
  std::vector<Function> functions_;  // by address
  std::unordered_map<std::uint64_t, std::string_view> found_;
};

// The names of the running kernel, read at the first call.
KernelNames& kernel_names();

}  // namespace threadmark
