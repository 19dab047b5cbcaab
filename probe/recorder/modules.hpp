// The maps of an image: which file lies where, with its build-id, and what lies between files.
// All is read from the target's memory, since a file may be replaced, deleted or out of sight.
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
  // `last_id` is that of the last module of any image.
  Modules(pid_t pid, std::uint64_t image, std::uint64_t& last_id)
      : pid_(pid), image_(image), last_id_(last_id) {}

  // What a forked image has from the one that it was forked from.
  void inherit(const Modules& from);
  void read_from(pid_t task) { pid_ = task; }

  // Reads the maps anew. Where no module lies where one lay before, all are taken for gone and
  // those that are there are left to the next image.
  MapsAre update(std::uint64_t at_ns);

  bool covers(std::uint64_t address) const;
  // What kind of memory an address without a module lies in.
  Region region_of(std::uint64_t address) const;
  // The same number for one place in all processes that have it mapped; 0: it is of this one alone.
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
  std::size_t inherited_ = 0;  // the first ones: they are in the record already
  std::vector<Mapping> mappings_;
  std::vector<ModuleEntry> modules_;   // those that ended too
  std::vector<std::uint64_t> inodes_;  // of each
  std::vector<bool> changed_;
  std::string last_;  // the text of the maps, since most readings find no change
};

// The build-id in the notes of an ELF file, as hexadecimal digits; empty if there is none.
std::string build_id_in(const std::string& notes);

}  // namespace threadmark
