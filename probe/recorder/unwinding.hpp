// Unwinds copies of the target's stacks with the tables of its modules, which are copied out of its
// memory when they are first needed.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "modules.hpp"
#include "probe/unwind/walk.hpp"

namespace threadmark {

// A piece of the target's stack, from its stack pointer upwards.
struct StackCopy {
  std::uint64_t address = 0;
  const char* bytes = nullptr;
  std::size_t size = 0;
};

class Unwinding {
 public:
  explicit Unwinding(const Modules& modules) : modules_(modules) {}

  void read_from(pid_t task) { task_ = task; }
  // The pc and the addresses that it returns to, innermost first.
  std::vector<std::uint64_t> frames(const unwind::Registers& registers, const StackCopy& stack);
  // Modules came or went; the tables of new ones are copied while they can be.
  void maps_changed();

 private:
  struct Tables {
    unwind::Module module;
    std::vector<unsigned char> bytes;
  };
  struct Finder {
    Unwinding& own;
    const unwind::Module* find(std::uint64_t pc) { return own.find(pc); }
  };
  const unwind::Module* find(std::uint64_t pc);
  std::unique_ptr<Tables> load(const ModuleEntry& module) const;

  const Modules& modules_;
  pid_t task_ = 0;
  std::unordered_map<std::uint64_t, std::unique_ptr<Tables>> tables_;  // by the module's id
  const unwind::Module* last_ = nullptr;
  unwind::Scratch scratch_;
};

}  // namespace threadmark
