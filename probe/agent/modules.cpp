// See modules.hpp. The list is one of two, so that a walk in another thread reads one that stands
// still: lists change at most every 100 ms, and not while any walk goes on.
#include "probe/agent/modules.hpp"

#include <elf.h>
#include <fcntl.h>

#include <atomic>
#include <cstring>

#include "probe/agent/system.hpp"

namespace threadmark::agent {

namespace {

constexpr std::size_t kMost = 1024;
constexpr std::uint64_t kPause_ns = 100'000'000;

struct List {
  std::size_t count = 0;
  unwind::Module modules[kMost]{};
  bool readable[kMost]{};  // the maps say that all of the tables can be read
};

constinit List lists[2]{};
std::atomic<std::uint32_t> current{0};
std::atomic<std::uint32_t> walks{0};
std::atomic<std::uint32_t> unloading{0};
std::atomic<bool> reading{false}, quiet{false};
std::atomic<std::uint64_t> read_ns{0};
Region own;

// A line of the maps.
struct Mapping {
  std::uint64_t low = 0, high = 0, offset = 0, file = 0;
  bool readable = false, executable = false;
};

std::uint64_t number(const char*& at, unsigned base) {
  std::uint64_t to = 0;
  for (;; ++at) {
    const char c = *at;
    unsigned digit = 99;
    if (c >= '0' && c <= '9') digit = static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') digit = static_cast<unsigned>(c - 'a') + 10;
    if (digit >= base) return to;
    to = to * base + digit;
  }
}

Mapping parse(const char* line) {
  Mapping to;
  to.low = number(line, 16);
  if (*line++ != '-') return {};
  to.high = number(line, 16);
  if (*line++ != ' ') return {};
  to.readable = line[0] == 'r';
  to.executable = line[2] == 'x';
  line += 5;
  to.offset = number(line, 16);
  // Device and inode together name the file; the kernel's own pages have none.
  for (int word = 0; word < 2 && *line != '\0'; ++word) {
    while (*line == ' ') ++line;
    while (*line != ' ' && *line != '\0')
      to.file = to.file * 131 + static_cast<unsigned char>(*line++);
  }
  return to;
}

// Calls `each` with the mappings in order until it returns false.
template <class Each>
void each_mapping(Each each) {
  if (quiet.load()) return;
  const long file =
      raw_call(SYS_openat, AT_FDCWD, as_word("/proc/self/maps"), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  char buffer[1024];
  std::size_t filled = 0;
  bool more = true, skipping = false;
  while (more) {
    const long got = raw_call(SYS_read, file, as_word(buffer + filled),
                              static_cast<long>(sizeof buffer - 1 - filled));
    if (got <= 0) break;
    filled += static_cast<std::size_t>(got);
    std::size_t begin = 0;
    while (more) {
      void* end = std::memchr(buffer + begin, '\n', filled - begin);
      if (end == nullptr) break;
      *static_cast<char*>(end) = '\0';
      if (!skipping) more = each(parse(buffer + begin));
      skipping = false;
      begin = static_cast<std::size_t>(static_cast<char*>(end) - buffer) + 1;
    }
    if (begin == 0 && filled > 128) {  // a long path: all that matters stands before it
      if (!skipping) {
        buffer[filled] = '\0';
        more = each(parse(buffer));
      }
      skipping = true;
      filled = 0;
      continue;
    }
    std::memmove(buffer, buffer + begin, filled - begin);
    filled -= begin;
  }
  raw_call(SYS_close, file);
}

// The ELF file whose mappings come in, until its code is there.
struct Candidate {
  Mapping header;             // its first mapping
  std::uint64_t covered = 0;  // readable without a gap from header.low to here
};

const Elf64_Phdr* program_headers(const Candidate& from, std::size_t& count) {
  const std::uint64_t size = from.covered - from.header.low;
  if (size < sizeof(Elf64_Ehdr)) return nullptr;
  const auto* head = reinterpret_cast<const Elf64_Ehdr*>(from.header.low);
  if (std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_ident[EI_CLASS] != ELFCLASS64)
    return nullptr;
  if (head->e_phentsize != sizeof(Elf64_Phdr) || head->e_phoff > size ||
      std::uint64_t{head->e_phnum} * sizeof(Elf64_Phdr) > size - head->e_phoff)
    return nullptr;
  count = head->e_phnum;
  return reinterpret_cast<const Elf64_Phdr*>(from.header.low + head->e_phoff);
}

// Whether `code`, a later or the same mapping of the file, is where the headers want their code.
bool fits(const Elf64_Phdr* headers, std::size_t count, std::uint64_t bias, const Mapping& code) {
  for (std::size_t i = 0; i < count; ++i) {
    const Elf64_Phdr& each = headers[i];
    if (each.p_type == PT_LOAD && (each.p_flags & PF_X) != 0 &&
        code.low - bias - code.offset == each.p_vaddr - each.p_offset &&
        code.low < bias + each.p_vaddr + each.p_memsz && bias + each.p_vaddr < code.high)
      return true;
  }
  return false;
}

void add_module(List& list, const Candidate& from, const Mapping& code) {
  std::size_t count = 0;
  const Elf64_Phdr* headers = program_headers(from, count);
  unwind::Module to;
  to.low = code.low;
  to.high = code.high;
  if (headers != nullptr) {
    std::uint64_t bias = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (headers[i].p_type == PT_LOAD && headers[i].p_offset == 0) {
        bias = from.header.low - headers[i].p_vaddr;
        break;
      }
    }
    if (fits(headers, count, bias, code)) {
      for (std::size_t i = 0; i < count; ++i)
        if (headers[i].p_type == PT_GNU_EH_FRAME) to.header = bias + headers[i].p_vaddr;
      // The segment of the tables is often mapped behind the code: its end comes from the headers,
      // and counts only when the maps confirm it (see read_list).
      for (std::size_t i = 0; i < count && to.header != 0; ++i) {
        const Elf64_Phdr& each = headers[i];
        const std::uint64_t low = bias + each.p_vaddr;
        if (each.p_type == PT_LOAD && (each.p_flags & PF_R) != 0 && to.header >= low &&
            to.header < low + each.p_filesz)
          to.tables = {reinterpret_cast<const unsigned char*>(low), low, each.p_filesz};
      }
    }
  }
  if (list.count == kMost) return;
  list.readable[list.count] = false;
  list.modules[list.count++] = to;
}

bool covers(std::uint64_t low, std::uint64_t high, const unwind::Image& image) {
  return image.address >= low && image.address <= high && image.size <= high - image.address;
}

// Reads all modules. Code mappings without a file are not in the list: nothing is known of them.
void read_list(List& list) {
  list.count = 0;
  Candidate candidate;
  Region readable;  // what is readable without a gap, up to the line before
  const auto confirm = [&] {
    for (std::size_t i = 0; i < list.count; ++i)
      if (covers(readable.low, readable.high, list.modules[i].tables)) list.readable[i] = true;
  };
  each_mapping([&](const Mapping& line) {
    if (line.readable && line.low == readable.high) {
      readable.high = line.high;
    } else {
      confirm();
      readable = line.readable ? Region{line.low, line.high} : Region{};
    }
    if (!line.readable) return true;
    if (line.file == candidate.header.file && line.low == candidate.covered)
      candidate.covered = line.high;
    else if (line.offset == 0)
      candidate = {line, line.high};
    if (line.executable && line.file == candidate.header.file) add_module(list, candidate, line);
    return true;
  });
  confirm();
  for (std::size_t i = 0; i < list.count; ++i) {
    if (list.readable[i]) continue;
    list.modules[i].header = 0;
    list.modules[i].tables = {};
  }
}

const unwind::Module* search(const List& list, std::uint64_t pc) {
  std::size_t low = 0, high = list.count;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (list.modules[middle].low <= pc)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0) return nullptr;
  const unwind::Module& found = list.modules[low - 1];
  return pc < found.high ? &found : nullptr;
}

// Reads the maps into the list that no walk uses. Only a walk that is alone may ask for it.
void refresh() {
  if (quiet.load() || reading.exchange(true)) return;
  const std::uint64_t now = now_ns();
  if (now - read_ns.load() >= kPause_ns) {
    read_ns.store(now);
    const std::uint32_t other = 1 - current.load();
    read_list(lists[other]);
    current.store(other);
  }
  reading.store(false);
}

}  // namespace

void read_modules() {
  read_list(lists[0]);
  own = region_of(reinterpret_cast<std::uint64_t>(&read_modules));
}

bool is_own(std::uint64_t pc) { return pc >= own.low && pc < own.high; }

Region region_of(std::uint64_t address) {
  Region to;
  each_mapping([&](const Mapping& line) {
    if (address >= line.low && address < line.high) to = {line.low, line.high};
    return line.low <= address && to.high == 0;
  });
  return to;
}

void be_quiet() { quiet.store(true); }
bool is_quiet() { return quiet.load(); }

Modules::Modules() {
  walks.fetch_add(1);
  usable_ = unloading.load() == 0;
}

Modules::~Modules() { walks.fetch_sub(1); }

const unwind::Module* Modules::find(std::uint64_t pc) {
  if (!usable_) return nullptr;
  if (last_ != nullptr && pc >= last_->low && pc < last_->high) return last_;
  const unwind::Module* found = search(lists[current.load()], pc);
  if (found == nullptr && !asked_ && walks.load() == 1) {
    asked_ = true;
    last_ = nullptr;
    refresh();
    found = search(lists[current.load()], pc);
  }
  if (found != nullptr) last_ = found;
  return found;
}

void begin_unloading() {
  unloading.fetch_add(1);
  // A walk takes microseconds. One whose thread has no processor is not waited for without end.
  for (int i = 0; walks.load() != 0 && i < 1000; ++i) raw_call(SYS_sched_yield);
}

void end_unloading() {
  // Modules that are gone must not be found again. Without a system call the list can only be
  // emptied, so that walks end at the first frame.
  if (quiet.load()) {
    lists[current.load()].count = 0;
  } else {
    while (reading.exchange(true)) raw_call(SYS_sched_yield);
    const std::uint32_t other = 1 - current.load();
    read_list(lists[other]);
    current.store(other);
    reading.store(false);
  }
  unloading.fetch_sub(1);
}

}  // namespace threadmark::agent
