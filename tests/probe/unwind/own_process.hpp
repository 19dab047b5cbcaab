// The memory and the modules for a walk over the stack of this process.
#pragma once

#include <elf.h>
#include <link.h>

#include <vector>

#include "probe/unwind/walk.hpp"

namespace own {

namespace unwind = threadmark::unwind;

class Modules {
 public:
  Modules() {
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* to) {
          static_cast<Modules*>(to)->add(*info);
          return 0;
        },
        this);
  }
  const unwind::Module* find(std::uint64_t pc) const {
    for (const unwind::Module& each : all)
      if (pc >= each.low && pc < each.high) return &each;
    return nullptr;
  }
  std::vector<unwind::Module> all;

 private:
  void add(const dl_phdr_info& info) {
    std::uint64_t header = 0;
    for (int i = 0; i < info.dlpi_phnum; ++i)
      if (info.dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
        header = info.dlpi_addr + info.dlpi_phdr[i].p_vaddr;
    unwind::Image tables;
    for (int i = 0; i < info.dlpi_phnum; ++i) {
      const auto& each = info.dlpi_phdr[i];
      const std::uint64_t low = info.dlpi_addr + each.p_vaddr;
      if (each.p_type == PT_LOAD && header >= low && header < low + each.p_filesz)
        tables = {reinterpret_cast<const unsigned char*>(low), low, each.p_filesz};
    }
    for (int i = 0; i < info.dlpi_phnum; ++i) {
      const auto& each = info.dlpi_phdr[i];
      if (each.p_type != PT_LOAD || (each.p_flags & PF_X) == 0) continue;
      unwind::Module to;
      to.low = info.dlpi_addr + each.p_vaddr;
      to.high = to.low + each.p_memsz;
      to.tables = tables;
      to.header = header;
      all.push_back(to);
    }
  }
};

struct Memory {
  std::uint64_t low, high;
  // A sanitizer puts marks between the variables on the stack.
  [[gnu::no_sanitize_address]] bool read(std::uint64_t address, std::uint64_t& to) const {
    if (address < low || address >= high || high - address < 8) return false;
    if (address % 8 != 0) return false;
    to = *reinterpret_cast<const std::uint64_t*>(address);
    return true;
  }
};

inline std::vector<std::uint64_t> walk_from(unwind::Place place, const Modules& modules,
                                            std::uint64_t high, std::size_t most = 256) {
  Memory memory{place.registers.sp(), high};
  static thread_local unwind::Scratch scratch;
  std::vector<unwind::Frame> frames(most);
  const std::size_t count = unwind::walk(place, memory, modules, scratch, frames.data(), most);
  std::vector<std::uint64_t> to;
  for (std::size_t i = 0; i < count; ++i) to.push_back(frames[i].pc);
  return to;
}

// The callers of the function that calls walk(), up to a frame at `high`.
[[gnu::always_inline]] inline std::vector<std::uint64_t> walk(const Modules& modules,
                                                              std::uint64_t high,
                                                              std::size_t most = 256) {
  unwind::Place place;
  unwind::read_registers(place.registers);
  return walk_from(place, modules, high, most);
}

}  // namespace own
