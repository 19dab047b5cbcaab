// The maps of an image: the place of each file, with its build-id, and the regions between files.
// The recorder reads everything from the target's memory, because a file may be replaced, deleted
// or out of sight.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "entries.hpp"

namespace threadmark {

struct Mapping {
  std::uint64_t low, high, offset, inode;
  bool executable, writable, shared;
  std::string path;
};

enum class MapsAre { same, changed, of_another_image };

class Modules {
 public:
  // `last_id` is the id of the last module of any image.
  Modules(pid_t pid, std::uint64_t image, std::uint64_t& last_id)
      : pid_(pid), image_(image), last_id_(last_id) {}

  // Takes the modules that a forked image has from the image that it was forked from.
  void inherit(const Modules& from);
  void read_from(pid_t task) { pid_ = task; }

  // Reads the maps anew. If no module lies at an earlier place, all modules count as gone, and the
  // present ones belong to the next image.
  MapsAre update(std::uint64_t at_ns);

  bool covers(std::uint64_t address) const;
  // The kind of memory of an address without a module.
  Region region_of(std::uint64_t address) const;
  // The same number for one place in all processes that have it mapped; 0: only this process has
  // it.
  std::uint64_t shared_place(std::uint64_t address) const;
  // Whether both addresses lie in one mapping, as a stack pointer and a variable of its stack do.
  bool together(std::uint64_t one, std::uint64_t other) const;

  const std::vector<ModuleEntry>& all() const { return modules_; }
  const std::vector<Mapping>& mappings() const { return mappings_; }
  // Modules that are new or changed since the last call, for the record.
  std::vector<const ModuleEntry*> take_changed();

 private:
  const Mapping* mapping_at(std::uint64_t address) const;
  void add(const Mapping& first, std::uint64_t high, std::uint64_t at_ns);

  pid_t pid_;
  std::uint64_t image_;
  std::uint64_t& last_id_;
  std::size_t inherited_ = 0;  // the first modules, already in the record
  std::vector<Mapping> mappings_;
  std::vector<ModuleEntry> modules_;   // those that ended too
  std::vector<std::uint64_t> inodes_;  // of each
  std::vector<bool> changed_;
  std::string last_;  // the text of the maps, because most readings find no change
};

// The build-id in the notes of an ELF file, as hexadecimal digits; empty if there is none.
std::string build_id_in(const std::string& notes);

}  // namespace threadmark
