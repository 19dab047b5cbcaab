// Maps and build-ids of the target.
#include "modules.hpp"

#include <linux/elf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "system.hpp"

namespace threadmark {
namespace {

constexpr std::size_t kMostNotes = 1 << 16;
constexpr std::size_t kMostModules = 4000;       // of one image
constexpr std::uint64_t kMostModuleIds = 65000;  // the reader takes 65536

// "low-high perms offset dev inode   path", where the path has `\012` for the end of a line.
bool parse(std::string_view line, Mapping& mapping) {
  const std::string text(line);
  const char* at = text.c_str();
  char* end = nullptr;
  mapping.low = std::strtoull(at, &end, 16);
  if (*end != '-') return false;
  mapping.high = std::strtoull(end + 1, &end, 16);
  if (*end != ' ' || std::strlen(end) < 6) return false;
  mapping.writable = end[2] == 'w';
  mapping.executable = end[3] == 'x';
  mapping.shared = end[4] == 's';
  mapping.offset = std::strtoull(end + 6, &end, 16);
  const char* device = std::strchr(end + 1, ' ');
  if (device == nullptr) return false;
  mapping.inode = std::strtoull(device + 1, &end, 10);
  while (*end == ' ') ++end;
  mapping.path.clear();
  for (; *end != 0; ++end) {
    if (std::strncmp(end, "\\012", 4) == 0) {
      mapping.path += '\n';
      end += 3;
    } else {
      mapping.path += *end;
    }
  }
  return true;
}

}  // namespace

std::string build_id_in(const std::string& notes) {
  std::size_t at = 0;
  while (notes.size() - at >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr head;
    std::memcpy(&head, notes.data() + at, sizeof head);
    at += sizeof head;
    const std::size_t name = (std::size_t{head.n_namesz} + 3) / 4 * 4;
    const std::size_t body = (std::size_t{head.n_descsz} + 3) / 4 * 4;
    if (name > notes.size() - at || body > notes.size() - at - name) break;
    constexpr std::uint32_t kBuildId = 3;
    if (head.n_type == kBuildId && head.n_namesz == 4 &&
        std::memcmp(notes.data() + at, "GNU", 4) == 0 && head.n_descsz <= 64) {
      std::string digits;
      for (std::size_t i = 0; i < head.n_descsz; ++i) {
        digits += format("%02x", static_cast<unsigned char>(notes[at + name + i]));
      }
      return digits;
    }
    at += name + body;
  }
  return {};
}

void Modules::add(const Mapping& first, std::uint64_t high, std::uint64_t at_ns) {
  if (modules_.size() >= kMostModules || last_id_ >= kMostModuleIds) return;
  ModuleEntry module;
  module.id = ++last_id_;
  module.image = image_;
  module.low = first.low;
  module.high = high;
  module.offset = first.offset;
  module.bias = first.low - first.offset;  // right if segments lie as in the file
  module.from_ns = at_ns;
  module.path = first.path;

  Elf64_Ehdr head{};
  Elf64_Phdr segments[64];
  const auto read = [&](std::uint64_t address, std::uint64_t offset, void* to, std::size_t bytes) {
    return read_mapped(pid_, address, first.path, offset, to, bytes);
  };
  if (first.offset == 0 && read(first.low, 0, &head, sizeof head) == sizeof head &&
      std::memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_ident[EI_CLASS] == ELFCLASS64 &&
      head.e_phentsize == sizeof(Elf64_Phdr)) {
    const std::size_t count = std::min<std::size_t>(head.e_phnum, std::size(segments));
    const std::size_t bytes = count * sizeof(Elf64_Phdr);
    if (read(first.low + head.e_phoff, head.e_phoff, segments, bytes) == bytes) {
      bool biased = false;
      for (std::size_t i = 0; i < count; ++i) {
        const Elf64_Phdr& segment = segments[i];
        if (segment.p_type != PT_LOAD) continue;
        if (!biased) module.bias = first.low - (segment.p_vaddr - segment.p_offset);
        biased = true;
        // Memory beyond the file's part (.bss) has no path in the maps.
        const std::uint64_t end = module.bias + segment.p_vaddr + segment.p_memsz;
        const std::uint64_t page_end = (end + 4095) / 4096 * 4096;
        if (page_end > module.high && page_end - module.low < std::uint64_t{1} << 40) {
          module.high = page_end;
        }
      }
      for (std::size_t i = 0; i < count && module.build_id.empty(); ++i) {
        if (segments[i].p_type != PT_NOTE) continue;
        std::string notes(std::min<std::size_t>(segments[i].p_memsz, kMostNotes), 0);
        notes.resize(read(module.bias + segments[i].p_vaddr, segments[i].p_offset, notes.data(),
                          notes.size()));
        module.build_id = build_id_in(notes);
      }
    }
  }
  modules_.push_back(std::move(module));
  inodes_.push_back(first.inode);
  changed_.push_back(true);
}

void Modules::inherit(const Modules& from) {
  for (std::size_t i = 0; i < from.modules_.size(); ++i) {
    if (from.modules_[i].until_ns != 0) continue;
    modules_.push_back(from.modules_[i]);
    inodes_.push_back(from.inodes_[i]);
    changed_.push_back(false);
  }
  inherited_ = modules_.size();
}

MapsAre Modules::update(std::uint64_t at_ns) {
  std::string text = read_all(format("/proc/%d/maps", pid_).c_str());
  if (text.empty() || text == last_) return MapsAre::same;  // a process that ended has none
  last_ = std::move(text);
  mappings_.clear();
  std::string_view rest = last_;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    Mapping mapping;
    if (parse(rest.substr(0, end), mapping)) mappings_.push_back(std::move(mapping));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }

  bool changed = false, lived = false, lives = false;
  std::vector<bool> seen(modules_.size());
  for (const ModuleEntry& module : modules_) lived |= module.until_ns == 0;
  std::vector<std::pair<Mapping, std::uint64_t>> found;  // and its end
  for (std::size_t i = 0; i < mappings_.size();) {
    const Mapping& first = mappings_[i];
    // A file's mappings follow one another, with its .bss between or after them at most.
    const bool is_file = !first.path.empty() && first.path[0] == '/';
    std::uint64_t high = first.high;
    bool executable = first.executable;
    std::size_t next = i + 1;
    for (; is_file && next < mappings_.size(); ++next) {
      const Mapping& other = mappings_[next];
      if (other.inode != first.inode || other.path != first.path || other.offset == 0) break;
      high = other.high;
      executable = executable || other.executable;
    }
    i = next;
    const bool wanted = executable && (is_file || first.path == "[vdso]");
    if (!wanted) continue;
    std::size_t known = 0;
    while (known < seen.size() &&
           (modules_[known].until_ns != 0 || modules_[known].low != first.low ||
            inodes_[known] != first.inode || modules_[known].path != first.path)) {
      ++known;
    }
    if (known < seen.size()) {
      seen[known] = lives = true;
      if (high > modules_[known].high) {  // it was read while the loader mapped it
        modules_[known].high = high;
        changed_[known] = true;
        changed = true;
      }
      continue;
    }
    found.emplace_back(first, high);
  }
  const bool replaced = lived && !lives && !found.empty();
  for (const auto& [first, high] : found) {
    if (!replaced) add(first, high, at_ns);
    changed = true;
  }
  if (replaced) last_.clear();
  for (std::size_t known = 0; known < seen.size(); ++known) {
    if (seen[known] || modules_[known].until_ns != 0) continue;
    modules_[known].until_ns = at_ns;
    changed_[known] = true;
    changed = true;
  }
  return replaced ? MapsAre::of_another_image : changed ? MapsAre::changed : MapsAre::same;
}

const Mapping* Modules::mapping_at(std::uint64_t address) const {
  const auto place = std::upper_bound(mappings_.begin(), mappings_.end(), address,
                                      [](std::uint64_t a, const Mapping& m) { return a < m.high; });
  return place != mappings_.end() && place->low <= address ? &*place : nullptr;
}

bool Modules::covers(std::uint64_t address) const { return mapping_at(address) != nullptr; }

bool Modules::together(std::uint64_t one, std::uint64_t other) const {
  const Mapping* mapping = mapping_at(one);
  return mapping != nullptr && other >= mapping->low && other < mapping->high;
}

std::uint64_t Modules::shared_place(std::uint64_t address) const {
  const Mapping* mapping = mapping_at(address);
  if (mapping == nullptr || !mapping->shared) return 0;
  return std::uint64_t{1} << 63 |
         (mapping->inode << 40 ^ (mapping->offset + address - mapping->low));
}

Region Modules::region_of(std::uint64_t address) const {
  const Mapping* mapping = mapping_at(address);
  if (mapping == nullptr) return Region::unknown;
  if (mapping->path == "[heap]") return Region::heap;
  if (mapping->path == "[stack]") return Region::stack;
  return mapping->path.starts_with('/') ? Region::file : Region::anonymous;
}

std::vector<const ModuleEntry*> Modules::take_changed() {
  std::vector<const ModuleEntry*> taken;
  for (std::size_t i = 0; i < modules_.size(); ++i) {
    if (changed_[i] && i >= inherited_) taken.push_back(&modules_[i]);
    changed_[i] = false;
  }
  return taken;
}

}  // namespace threadmark
