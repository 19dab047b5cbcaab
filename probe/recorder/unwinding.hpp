// Unwinds copies of the target's stacks with the tables of its modules, which are copied out of its
// memory when they are first needed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "modules.hpp"
#include "probe/unwind/walk.hpp"

namespace threadmark {

// The tables of files, for all images that have them mapped.
using TableBytes = std::shared_ptr<const std::vector<unsigned char>>;
using TablesOfFiles =
    std::unordered_map<std::string, std::weak_ptr<const std::vector<unsigned char>>>;

// A piece of the target's stack, from its stack pointer upwards.
struct StackCopy {
  std::uint64_t address = 0;
  const char* bytes = nullptr;
  std::size_t size = 0;
};

class Unwinding {
 public:
  Unwinding(const Modules& modules, TablesOfFiles& files) : modules_(modules), files_(files) {}

  void read_from(pid_t task) { task_ = task; }
  // The callers, innermost first, each with the place of its address on the stack.
  std::vector<unwind::Frame> callers(const unwind::Registers& registers, const StackCopy& stack);
  // The pc and the addresses that it returns to, innermost first.
  std::vector<std::uint64_t> frames(const unwind::Registers& registers, const StackCopy& stack);
  // Called when modules came or went: copies the tables of new modules while that is possible.
  void maps_changed();

 private:
  struct Tables {
    unwind::Module module;
    TableBytes bytes;
  };
  struct Finder {
    Unwinding& own;
    const unwind::Module* find(std::uint64_t pc) { return own.find(pc); }
  };
  const unwind::Module* find(std::uint64_t pc);
  bool find_frame_pointer(unwind::Place& place, const StackCopy& stack);
  bool leads_on(unwind::Place place, std::uint64_t frame, const StackCopy& stack);
  std::unique_ptr<Tables> load(const ModuleEntry& module) const;

  const Modules& modules_;
  TablesOfFiles& files_;
  pid_t task_ = 0;
  std::unordered_map<std::uint64_t, std::unique_ptr<Tables>> tables_;  // by the module's id
  const unwind::Module* last_ = nullptr;
  unwind::Scratch scratch_;
};

}  // namespace threadmark
