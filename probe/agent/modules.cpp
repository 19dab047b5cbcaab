// See modules.hpp. There are two lists, so that a walk in another thread reads a list that stands
// still: a list changes only while no walk uses it.
#include "probe/agent/modules.hpp"

#include <elf.h>
#include <fcntl.h>

#include <atomic>
#include <cstring>

#include "probe/agent/loader.hpp"
#include "probe/agent/start.hpp"
#include "probe/agent/system.hpp"
#include "probe/agent/words.hpp"

// The linker's symbol for the beginning of the agent itself.
extern "C" [[gnu::visibility("hidden")]] const char __ehdr_start[];
extern "C" [[gnu::visibility("hidden")]] const char _end[];

namespace threadmark::agent {

namespace {

constexpr std::size_t kMost = 1024;
constexpr std::uint64_t kPause_ns = 10'000'000;  // from one reading to the next, at least
constexpr std::uint32_t kSlowest = 6;            // doublings of it if readings find nothing
constexpr std::uint32_t kHopeless = 3;           // fruitless readings: the code has no file
constexpr std::uint64_t kShare = 20;             // reading takes less than this part of the time

struct List {
  std::size_t count = 0;
  unwind::Module modules[kMost]{};
  bool readable[kMost]{};  // the maps show that all of the tables are readable
};

constinit List lists[2]{};
constinit List start{};  // loaded with the program: the modules and this list stay
std::atomic<std::uint32_t> current{0};
std::atomic<std::uint32_t> walks{0};
std::atomic<std::uint32_t> unloading{0};
std::atomic<bool> reading{false}, quiet{false};
std::atomic<bool> given_up{false};        // a walk did not end: walks use `start` from now on
std::atomic<std::uint32_t> fruitless{0};  // readings since a successful one
std::atomic<std::uint64_t> next_ns{0};    // the time of the next reading of the maps
std::atomic<std::uint64_t> unloaded{0};   // the loader's number at the last comparison

// A line of the maps.
struct Mapping {
  std::uint64_t low = 0, high = 0, offset = 0, file = 0;
  bool readable = false, executable = false, shared = false;
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
  to.shared = line[3] == 's';
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
    if (begin == 0 && filled > 128) {  // a long path: all needed fields come before it
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

// The ELF file whose mappings are being read, until its code comes.
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

// Whether `code`, a later or the same mapping of the file, lies at the place that the headers give
// for code.
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

// Finds the tables with the headers. The segment of the tables is often mapped behind the code: its
// end comes from the headers, and counts only when the maps confirm it (see read_list).
void find_tables(const Elf64_Phdr* headers, std::size_t count, std::uint64_t bias,
                 unwind::Module& to) {
  for (std::size_t i = 0; i < count; ++i)
    if (headers[i].p_type == PT_GNU_EH_FRAME) to.header = bias + headers[i].p_vaddr;
  for (std::size_t i = 0; i < count && to.header != 0; ++i) {
    const Elf64_Phdr& each = headers[i];
    const std::uint64_t low = bias + each.p_vaddr;
    if (each.p_type == PT_LOAD && (each.p_flags & PF_R) != 0 && to.header >= low &&
        to.header < low + each.p_filesz)
      to.tables = {reinterpret_cast<const unsigned char*>(low), low, each.p_filesz};
  }
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
    if (fits(headers, count, bias, code)) find_tables(headers, count, bias, to);
  }
  if (list.count == kMost) return;
  list.readable[list.count] = false;
  list.modules[list.count++] = to;
}

bool covers(std::uint64_t low, std::uint64_t high, const unwind::Image& image) {
  return image.address >= low && image.address <= high && image.size <= high - image.address;
}

// Reads all modules. Code mappings without a file are not in the list, because they have no tables.
void read_list(List& list) {
  list.count = 0;
  Candidate candidate;
  Region readable;  // readable without a gap, up to the line before
  const auto confirm = [&] {
    for (std::size_t i = 0; i < list.count; ++i)
      if (covers(readable.low, readable.high, list.modules[i].tables)) list.readable[i] = true;
  };
  each_mapping([&](const Mapping& line) {
    if (line.readable && line.low == readable.high) {
      readable.high = line.high;
    } else {
      confirm();
      readable = line.readable ? Region{line.low, line.high, 0} : Region{};
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

// The number of modules that begin at or below `pc`.
std::size_t count_up_to(const List& list, std::uint64_t pc) {
  std::size_t low = 0, high = list.count;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (list.modules[middle].low <= pc)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

const unwind::Module* search(const List& list, std::uint64_t pc) {
  const std::size_t count = count_up_to(list, pc);
  if (count == 0) return nullptr;
  const unwind::Module& found = list.modules[count - 1];
  return pc < found.high ? &found : nullptr;
}

// Reads the maps into the list that no walk uses. Only a walk that is alone may call this. False:
// the last reading was a short time ago.
bool refresh() {
  if (quiet.load() || reading.exchange(true)) return false;
  const std::uint64_t now = now_ns();
  const bool due = now >= next_ns.load();
  if (due) {
    const std::uint32_t other = 1 - current.load();
    read_list(lists[other]);
    current.store(other);
    const std::uint64_t after = now_ns(), share = (after - now) * kShare;
    const std::uint32_t slow = fruitless.load();
    const std::uint64_t pause = kPause_ns << (slow < kSlowest ? slow : kSlowest);
    next_ns.store(after + (pause > share ? pause : share));
  }
  reading.store(false);
  return due;
}

// Copies the modules of a list that are among the first `most` modules of the loader, with the same
// tables.
std::uint64_t keep_loaded(const List& from, List& to, std::size_t most) {
  bool keep[kMost]{};
  const std::uint64_t changes = each_loaded([&](const Loaded& module) {
    if (most-- == 0) return false;
    unwind::Module like;
    find_tables(module.headers, module.count, module.bias, like);
    for (std::size_t i = 0; i < module.count; ++i) {
      const Elf64_Phdr& each = module.headers[i];
      if (each.p_type != PT_LOAD || (each.p_flags & PF_X) == 0) continue;
      const std::uint64_t low = module.bias + each.p_vaddr;
      std::size_t at = count_up_to(from, low);
      if (at > 0) --at;
      for (; at < from.count && from.modules[at].low < low + each.p_memsz; ++at) {
        const unwind::Module& there = from.modules[at];
        keep[at] |= low < there.high &&
                    (there.header == 0 ||
                     (there.header == like.header && there.tables.address == like.tables.address &&
                      there.tables.size == like.tables.size));
      }
    }
    return true;
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < from.count; ++i)
    if (keep[i]) to.modules[kept++] = from.modules[i];
  to.count = kept;
  return changes;
}

void pause() {
  if (quiet.load()) {
    for (int i = 0; i < 100; ++i) keep_order();
  } else {
    raw_call(SYS_sched_yield);
  }
}

}  // namespace

void read_modules() {
  const auto here = reinterpret_cast<std::uint64_t>(__ehdr_start);
  read_list(lists[0]);
  unloaded.store(keep_loaded(lists[0], start, count_of_start(here)));
}

bool is_own(std::uint64_t pc) {
  return pc >= reinterpret_cast<std::uint64_t>(__ehdr_start) &&
         pc < reinterpret_cast<std::uint64_t>(_end);
}

Region region_of(std::uint64_t address) {
  Region to;
  each_mapping([&](const Mapping& line) {
    if (address >= line.low && address < line.high)
      to = {line.low, line.high, line.shared ? line.file << 40 ^ line.offset : 0};
    return line.low <= address && to.high == 0;
  });
  return to;
}

void be_quiet() { quiet.store(true); }
bool is_quiet() { return quiet.load(); }

Modules::Modules() {
  walks.fetch_add(1);
  all_ = unloading.load() == 0 && !given_up.load();
  if (!all_) walks.fetch_sub(1);
}

Modules::~Modules() {
  if (all_) walks.fetch_sub(1);
}

const unwind::Module* Modules::find(std::uint64_t pc) {
  if (last_ != nullptr && pc >= last_->low && pc < last_->high) return last_;
  const unwind::Module* found = search(all_ ? lists[current.load()] : start, pc);
  if (found == nullptr && !asked_) {
    asked_ = true;
    last_ = nullptr;
    if (all_ && walks.load() == 1 && refresh()) {
      found = search(lists[current.load()], pc);
      fruitless.store(found != nullptr ? 0 : fruitless.load() + 1);
    } else {
      partial_ = !all_ || fruitless.load() < kHopeless;
    }
  }
  if (found != nullptr) last_ = found;
  return found;
}

void forget_walks() {
  // A dlclose in another thread will not finish its half-done work: modules of the list may go.
  if (unloading.load() != 0) lists[current.load()].count = 0;
  walks.store(0);
  unloading.store(0);
  reading.store(false);
  given_up.store(false);
  next_ns.store(0);
}

void begin_unloading() {
  unloading.fetch_add(1);
  // A walk takes microseconds. A walk that does not end was left by a jump out of a signal handler,
  // or its thread has no processor. dlclose waits for it once, and never again.
  constexpr std::uint64_t kPatience_ns = 50'000'000;
  for (std::uint64_t begin = 0; walks.load() != 0 && !given_up.load(); pause()) {
    const std::uint64_t now = now_ns();
    if (begin == 0) begin = now;
    if (now - begin > kPatience_ns) given_up.store(true);
  }
}

// A walk must not find modules that are gone. Most calls unload nothing.
void end_unloading() {
  const std::uint64_t now = each_loaded([](const Loaded&) { return false; });
  if (now == 0) given_up.store(true);
  if (now != unloaded.load()) {
    while (reading.exchange(true) && !given_up.load()) pause();
    if (!given_up.load()) {
      const std::uint32_t from = current.load();
      const std::uint64_t seen = keep_loaded(lists[from], lists[1 - from], kMost);
      current.store(1 - from);
      unloaded.store(seen);
      reading.store(false);
    }
  }
  unloading.fetch_sub(1);
}

}  // namespace threadmark::agent
