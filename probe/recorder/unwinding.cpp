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

constexpr std::size_t kLongestCall = 7;
constexpr std::uint64_t kLargestFrame = 2048;  // to search for a frame pointer

// Whether the instruction that ends with `code` is a call through a register or memory.
bool is_indirect_call(const unsigned char (&code)[kLongestCall]) {
  for (std::size_t size = 2; size <= kLongestCall; ++size) {
    const unsigned char* at = code + kLongestCall - size;
    if (at[0] != 0xff || (at[1] >> 3 & 7) != 2) continue;
    const unsigned mode = at[1] >> 6, base = at[1] & 7;
    std::size_t length = mode != 3 && base == 4 ? 3 : 2;
    if (mode == 1) length += 1;
    if (mode == 2 || (mode == 0 && base == 5)) length += 4;
    if (length == size) return true;
  }
  return false;
}

// The bytes before an address.
bool read_code(pid_t task, std::uint64_t end, unsigned char (&code)[kLongestCall]) {
  return read_memory(task, end - kLongestCall, code, kLongestCall) == kLongestCall;
}

bool is_direct_call(const unsigned char (&code)[kLongestCall]) {
  return code[kLongestCall - 1 - sizeof(std::int32_t)] == 0xe8;
}

}  // namespace

// Whether the walk goes on from a frame, to addresses behind calls.
bool Unwinding::leads_on(unwind::Place place, std::uint64_t frame, const StackCopy& stack) {
  constexpr std::size_t kFar = 3;
  place.registers.set(unwind::kFramePointer, frame);
  CopiedStack memory{stack};
  Finder finder{*this};
  unwind::Frame frames[kFar];
  const std::size_t count = unwind::walk(place, memory, finder, scratch_, frames, kFar);
  return count > 1 && std::all_of(frames + 1, frames + count, [&](const unwind::Frame& each) {
           unsigned char code[kLongestCall];
           return read_code(task_, each.pc, code) &&
                  (is_direct_call(code) || is_indirect_call(code));
         });
}

// A thread that sleeps in the kernel shows only its pc and its stack pointer. If the tables of its
// code count from the frame pointer, the recorder looks for the frame pointer on the stack: the
// word above it is an address behind a call. A call of this very function is right; another call
// may be an old one. A function may keep a copy of the address, but no walk goes on from a copy.
bool Unwinding::find_frame_pointer(unwind::Place& place, const StackCopy& stack) {
#if defined(__x86_64__)
  unwind::Registers& now = place.registers;
  const std::uint64_t pc = now.pc() - (place.call ? 1 : 0);
  const unwind::Module* module = find(pc);
  if (now.has(unwind::kFramePointer) || module == nullptr || module->header == 0 ||
      !unwind::find_row(*module, pc, scratch_)) {
    return false;
  }
  const unwind::Row& row = scratch_.row;
  const unwind::Rule& back = row.rules[unwind::kReturn];
  if (row.cfa.kind != unwind::Rule::kOffset || row.cfa_register != unwind::kFramePointer ||
      back.kind != unwind::Rule::kOffset) {
    return false;
  }
  const auto distance = static_cast<std::uint64_t>(row.cfa.number + back.number);
  const CopiedStack memory{stack};
  const std::uint64_t function = scratch_.function;
  constexpr int kLeadsOn = 2;
  std::uint64_t found = 0;
  int best = 0;  // a call that leads on, and then a call of this function
  const std::uint64_t low = (now.sp() + 7) & ~std::uint64_t{7};
  for (std::uint64_t frame = low; frame < low + kLargestFrame && best < 2 + kLeadsOn; frame += 8) {
    std::uint64_t caller = 0;
    if (!memory.read(frame + distance, caller)) break;
    const unwind::Module* from = find(caller - 1);
    unsigned char code[kLongestCall];
    if (from == nullptr || !read_code(task_, caller, code)) continue;
    std::int32_t by = 0;
    std::memcpy(&by, code + kLongestCall - sizeof by, sizeof by);
    const bool direct = is_direct_call(code);
    const bool own = direct && caller + static_cast<std::uint64_t>(std::int64_t{by}) == function;
    // A call of another function in the same module did not lead here, but for a tail call.
    if (!own && !is_indirect_call(code) && !(direct && from != module)) continue;
    int rank = own ? 2 : 1;
    if (rank + kLeadsOn > best && leads_on(place, frame, stack)) rank += kLeadsOn;
    if (rank > best) {
      best = rank;
      found = frame;
    }
  }
  if (found != 0) now.set(unwind::kFramePointer, found);
  return found != 0;
#else
  static_cast<void>(place);
  static_cast<void>(stack);
  return false;
#endif
}

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
    // A file without a build-id cannot be recognised again.
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
          whole) {  // the index follows the segment, where no reader asks for memory of the program
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
  std::size_t count = 0;
  do {
    count +=
        unwind::walk(place, memory, finder, scratch_, frames + count, std::size(frames) - count);
  } while (count < std::size(frames) && find_frame_pointer(place, stack));
  return {frames, frames + count};
}

std::vector<std::uint64_t> Unwinding::frames(const unwind::Registers& registers,
                                             const StackCopy& stack) {
  std::vector<std::uint64_t> found{registers.pc()};
  for (const unwind::Frame& frame : callers(registers, stack)) found.push_back(frame.pc);
  return found;
}

}  // namespace threadmark
