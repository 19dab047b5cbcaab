// Unwinding of copied stacks.
#include "unwinding.hpp"

#include <linux/elf.h>

#include <algorithm>
#include <cstring>

#include "frame_index.hpp"
#include "probe/shared.hpp"
#include "system.hpp"

namespace threadmark {
namespace {

constexpr std::size_t kMostTableBytes = std::size_t{128} << 20;
constexpr std::uint32_t kFrameHeader = 0x6474e550;  // PT_GNU_EH_FRAME

struct CopiedStack {
  StackCopy stack;
  bool read(std::uint64_t address, std::uint64_t& word) const {
    const std::uint64_t offset = address - stack.address;
    if (address < stack.address || stack.size < sizeof word || offset > stack.size - sizeof word) {
      return false;
    }
    std::memcpy(&word, stack.bytes + offset, sizeof word);
    return true;
  }
};

}  // namespace

std::unique_ptr<Unwinding::Tables> Unwinding::load(const ModuleEntry& module) const {
  auto tables = std::make_unique<Tables>();
  tables->module.low = module.low;
  tables->module.high = module.high;
  const auto read = [&](std::uint64_t address, std::uint64_t offset, void* to, std::size_t bytes) {
    return read_mapped(task_, address, module.path, offset, to, bytes);
  };
  Elf64_Ehdr head{};
  if (module.offset != 0 || read(module.low, 0, &head, sizeof head) != sizeof head ||
      std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_phentsize != sizeof(Elf64_Phdr)) {
    return tables;
  }
  Elf64_Phdr segments[64];
  const std::size_t count = std::min<std::size_t>(head.e_phnum, std::size(segments));
  const std::size_t bytes = count * sizeof(Elf64_Phdr);
  if (read(module.low + head.e_phoff, head.e_phoff, segments, bytes) != bytes) return tables;
  const auto* header = std::find_if(segments, segments + count,
                                    [](const auto& s) { return s.p_type == kFrameHeader; });
  const bool indexed = header != segments + count;
  const Section frames = indexed ? Section{} : find_frames(module.path);
  if (!indexed && frames.size == 0) return tables;
  const std::uint64_t wanted = indexed ? header->p_vaddr : frames.address;
  for (std::size_t i = 0; i < count; ++i) {
    const Elf64_Phdr& s = segments[i];
    if (s.p_type != PT_LOAD || wanted < s.p_vaddr || wanted >= s.p_vaddr + s.p_filesz ||
        s.p_filesz > kMostTableBytes) {
      continue;
    }
    const std::uint64_t address = module.bias + s.p_vaddr;
    // Without a build-id a file is not known again.
    const std::string name =
        module.build_id.empty() ? "" : module.build_id + format("+%zu", std::size_t{s.p_offset});
    if (const auto known = files_.find(name); known != files_.end()) {
      tables->bytes = known->second.lock();
    }
    if (tables->bytes == nullptr) {
      auto copy = std::make_shared<std::vector<unsigned char>>(s.p_filesz);
      copy->resize(read(address, s.p_offset, copy->data(), s.p_filesz));
      const bool whole = copy->size() == s.p_filesz;
      if (!indexed &&
          whole) {  // the index follows the segment, where nothing of the program is asked for
        const std::vector<unsigned char> index =
            index_frames({copy->data(), address, copy->size()}, module.bias + frames.address,
                         frames.size, address + copy->size());
        copy->insert(copy->end(), index.begin(), index.end());
      }
      tables->bytes = copy;
      if (!name.empty() && whole) files_[name] = copy;
    }
    tables->module.tables = {tables->bytes->data(), address, tables->bytes->size()};
    if (indexed) {
      tables->module.header = module.bias + header->p_vaddr;
    } else if (tables->bytes->size() > s.p_filesz) {
      tables->module.header = address + s.p_filesz;
    }
    break;
  }
  return tables;
}

void Unwinding::maps_changed() {
  last_ = nullptr;
  for (const ModuleEntry& module : modules_.all()) {
    if (module.until_ns != 0) {
      tables_.erase(module.id);
    } else if (std::unique_ptr<Tables>& tables = tables_[module.id];
               tables == nullptr || tables->module.header == 0 ||
               tables->module.high != module.high) {
      tables = load(module);
    }
  }
}

const unwind::Module* Unwinding::find(std::uint64_t pc) {
  if (last_ != nullptr && pc >= last_->low && pc < last_->high) return last_;
  for (const ModuleEntry& module : modules_.all()) {
    if (module.until_ns != 0 || pc < module.low || pc >= module.high) continue;
    std::unique_ptr<Tables>& tables = tables_[module.id];
    if (tables == nullptr) tables = load(module);
    return last_ = &tables->module;
  }
  return nullptr;
}

std::vector<unwind::Frame> Unwinding::callers(const unwind::Registers& registers,
                                              const StackCopy& stack) {
  unwind::Place place{registers, false};
  CopiedStack memory{stack};
  Finder finder{*this};
  unwind::Frame frames[kMostFrames - 1];
  const std::size_t count =
      unwind::walk(place, memory, finder, scratch_, frames, std::size(frames));
  return {frames, frames + count};
}

std::vector<std::uint64_t> Unwinding::frames(const unwind::Registers& registers,
                                             const StackCopy& stack) {
  std::vector<std::uint64_t> found{registers.pc()};
  for (const unwind::Frame& frame : callers(registers, stack)) found.push_back(frame.pc);
  return found;
}

}  // namespace threadmark
