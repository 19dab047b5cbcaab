// Reads ELF files after the recording. It does not look at the target.
#include "carried.hpp"

#include <elf.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "modules.hpp"

namespace threadmark {
namespace {

constexpr std::uint64_t kAround = 96;          // bytes of code on each side of a sample
constexpr std::size_t kMostCode = 1 << 22;     // bytes of code in a record
constexpr std::uint64_t kMostRead = 1 << 28;   // bytes of a table of a file
constexpr std::size_t kLongestName = 1 << 14;  // the names of templates are long
constexpr std::size_t kMostData = 20'000;      // objects of a program that nothing waited for

// The addresses of one file, as in its headers and sorted.
struct WantedOfFile {
  std::uint64_t module = 0;
  std::string path, build_id;
  std::set<std::uint64_t> places, samples;
};

// An ELF file. The reader checks all of it, because the target can map any file. It reads the file
// instead of mapping it, because a mapped file that becomes shorter causes a signal.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path)
      : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {  // it may be a pipe by now
    struct stat status{};
    if (!file_ || fstat(file_.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
    size_ = static_cast<std::uint64_t>(status.st_size);
    if (!get(0, head_) || std::memcmp(head_.e_ident, ELFMAG, SELFMAG) != 0 ||
        head_.e_ident[EI_CLASS] != ELFCLASS64 || head_.e_shentsize != sizeof(Elf64_Shdr) ||
        head_.e_phentsize != sizeof(Elf64_Phdr)) {
      return;
    }
    sections_ = table<Elf64_Shdr>(head_.e_shoff, head_.e_shnum);
    segments_ = table<Elf64_Phdr>(head_.e_phoff, head_.e_phnum);
  }

  std::string build_id() const {
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type != SHT_NOTE || section.sh_size > 4096) continue;
      std::string id = build_id_in(bytes(section.sh_offset, section.sh_size));
      if (!id.empty()) return id;
    }
    return {};
  }

  // Calls `each` with the symbols of functions and objects that the file defines.
  template <class Each>
  void for_each_symbol(Each each) const {
    const Elf64_Shdr* all = nullptr;
    for (const Elf64_Shdr& section : sections_) {
      const bool whole = section.sh_type == SHT_SYMTAB;
      if (whole || (section.sh_type == SHT_DYNSYM && all == nullptr)) all = &section;
    }
    if (all == nullptr || all->sh_link >= sections_.size()) return;
    const Elf64_Shdr& texts = sections_[all->sh_link];
    const std::string names = bytes(texts.sh_offset, texts.sh_size);
    constexpr std::uint64_t kAtOnce = 4096;
    for (std::uint64_t i = 0; i < all->sh_size / sizeof(Elf64_Sym); i += kAtOnce) {
      const std::uint64_t count = std::min(kAtOnce, all->sh_size / sizeof(Elf64_Sym) - i);
      const auto symbols = table<Elf64_Sym>(all->sh_offset + i * sizeof(Elf64_Sym), count);
      if (symbols.empty()) return;
      for (const Elf64_Sym& symbol : symbols) {
        const unsigned type = ELF64_ST_TYPE(symbol.st_info);
        const bool data = type == STT_OBJECT;
        if ((!data && type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_value == 0 ||
            symbol.st_shndx == SHN_UNDEF || symbol.st_name >= names.size()) {
          continue;
        }
        const char* name = names.c_str() + symbol.st_name;
        each(symbol, data, std::string_view(name, strnlen(name, kLongestName)));
      }
    }
  }

  bool writable(std::uint64_t address) const {
    const Elf64_Phdr* segment = segment_of(address);
    return segment != nullptr && (segment->p_flags & PF_W) != 0;
  }

  // The bounds of the code around an address, within its segment. The recorder reads code for
  // x86-64 only.
  std::pair<std::uint64_t, std::uint64_t> around(std::uint64_t address) const {
    const Elf64_Phdr* s = segment_of(address);
    if (s == nullptr || (s->p_flags & PF_X) == 0 || head_.e_machine != EM_X86_64) return {0, 0};
    const std::uint64_t low = std::max(s->p_vaddr, address - std::min(address, kAround));
    return {low, std::min(s->p_vaddr + s->p_filesz, address + kAround)};
  }
  std::string code(std::uint64_t low, std::uint64_t high) const {
    const Elf64_Phdr* s = segment_of(low);
    return s == nullptr ? std::string() : bytes(s->p_offset + (low - s->p_vaddr), high - low);
  }

 private:
  const Elf64_Phdr* segment_of(std::uint64_t address) const {
    for (const Elf64_Phdr& s : segments_) {
      if (s.p_type == PT_LOAD && address >= s.p_vaddr && address - s.p_vaddr < s.p_memsz) return &s;
    }
    return nullptr;
  }
  bool read_at(std::uint64_t at, void* to, std::uint64_t length) const {
    if (at > size_ || length > size_ - at) return false;
    auto* next = static_cast<char*>(to);
    while (length != 0) {
      const ssize_t got = pread(file_.get(), next, length, static_cast<off_t>(at));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      next += got;
      at += static_cast<std::uint64_t>(got);
      length -= static_cast<std::uint64_t>(got);
    }
    return true;
  }
  template <class Part>
  bool get(std::uint64_t at, Part& to) const {
    return read_at(at, &to, sizeof to);
  }
  std::string bytes(std::uint64_t at, std::uint64_t length) const {
    if (length > std::min(size_, kMostRead)) return {};
    std::string found(length, '\0');
    return read_at(at, found.data(), length) ? found : std::string();
  }
  template <class Entry>
  std::vector<Entry> table(std::uint64_t at, std::uint64_t count) const {
    if (count > std::min(size_, kMostRead) / sizeof(Entry)) return {};
    std::vector<Entry> found(count);
    return read_at(at, found.data(), count * sizeof(Entry)) ? found : std::vector<Entry>();
  }

  Descriptor file_;
  std::uint64_t size_ = 0;
  Elf64_Ehdr head_{};
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Phdr> segments_;
};

bool is_of_system(const std::string& path) {
  return path.starts_with("/lib/") || path.starts_with("/lib64/") ||
         path.starts_with("/usr/lib/") || path.starts_with("/usr/lib64/");
}

// Picks, among several names of one function, the name that programs use: a global name, with fewer
// underscores.
struct Named {
  bool global;
  SymbolEntry entry;

  bool is_better_than(const Named& other) const {
    if (global != other.global) return global;
    const auto underscores = [](std::string_view text) { return text.find_first_not_of('_'); };
    return underscores(entry.name) < underscores(other.entry.name);
  }
};

void write_file(const WantedOfFile& wanted, TableOut& symbols, TableOut& code, std::uint64_t& id,
                std::size_t& left) {
  const ElfFile file(wanted.path);
  if (!wanted.build_id.empty() && file.build_id() != wanted.build_id) return;
  std::map<std::pair<std::uint64_t, bool>, Named> found;
  std::size_t others = 0;
  file.for_each_symbol([&](const Elf64_Sym& symbol, bool data, std::string_view name) {
    const auto next = wanted.places.lower_bound(symbol.st_value);
    const std::uint64_t size = std::max<std::uint64_t>(symbol.st_size, 1);
    const bool holds = next != wanted.places.end() && *next - symbol.st_value < size;
    if (!holds) {
      // The analysis finds which objects instructions write.
      const bool own = data && symbol.st_size != 0 && !is_of_system(wanted.path) &&
                       file.writable(symbol.st_value);
      if (!own || ++others > kMostData) return;
    }
    Named now{.global = ELF64_ST_BIND(symbol.st_info) == STB_GLOBAL,
              .entry = {.module = wanted.module,
                        .address = symbol.st_value,
                        .size = symbol.st_size,
                        .data = data ? 1U : 0U,
                        .name = std::string(name)}};
    const auto [place, is_new] = found.try_emplace({symbol.st_value, data}, now);
    if (!is_new && now.is_better_than(place->second)) place->second = std::move(now);
  });
  for (auto& [place, named] : found) {
    named.entry.id = ++id;
    put(symbols.entry(), named.entry);
  }
  CodeEntry part;
  part.module = wanted.module;
  std::uint64_t end = 0;
  const auto flush = [&] {
    if (end == 0 || end - part.address > left) return;
    part.bytes = file.code(part.address, end);
    if (part.bytes.empty()) return;
    left -= part.bytes.size();
    part.id = ++id;
    put(code.entry(), part);
  };
  for (const std::uint64_t sample : wanted.samples) {
    const auto [low, high] = file.around(sample);
    if (low >= high) continue;
    if (end == 0 || low > end) {
      flush();
      part.address = low;
    }
    end = std::max(end, high);
  }
  flush();
}

// The functions that a process made while it ran, from the file that it wrote for perf: lines of
// begin and size in hexadecimal digits and a name.
void write_made(pid_t pid, const std::set<std::uint64_t>& places, TableOut& symbols,
                std::uint64_t& id) {
  const std::string path = format("/tmp/perf-%d.map", pid);
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status{};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      (status.st_uid != 0 && status.st_uid != geteuid())) {
    return;  // any user may write a file there
  }
  std::map<std::uint64_t, SymbolEntry> found;  // the last function at a place counts
  const std::string lines = read_all(path.c_str(), kMostRead);
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    const std::string line = lines.substr(at, end - at);
    at = end + 1;
    char* rest = nullptr;
    const std::uint64_t begin = std::strtoull(line.c_str(), &rest, 16);
    const std::uint64_t size = std::strtoull(rest, &rest, 16);
    const auto next = places.lower_bound(begin);
    if (*rest != ' ' || size == 0 || next == places.end() || *next - begin >= size) continue;
    found[begin] = {.address = begin,
                    .size = size,
                    .name = std::string(rest + 1, strnlen(rest + 1, kLongestName))};
  }
  for (auto& [place, entry] : found) {
    entry.id = ++id;
    put(symbols.entry(), entry);
  }
}

}  // namespace

void Carried::frames(const WatchedImage& image, const std::vector<std::uint64_t>& stack,
                     bool exact) {
  Wanted& wanted = by_image_[image.entry.id];
  for (std::size_t i = 0; i < stack.size(); ++i) {
    if (exact && i == 0) {
      wanted.samples.insert(stack[i]);
    } else {
      wanted.calls.insert(stack[i] - 1);
    }
  }
}

void Carried::object(const WatchedImage& image, std::uint64_t address) {
  by_image_[image.entry.id].objects.insert(address);
}

void Carried::write(const std::vector<std::unique_ptr<WatchedImage>>& images, Writer& to) const {
  TableOut symbols(to, Chunk::symbols);
  TableOut code(to, Chunk::code);
  std::uint64_t id = 0;
  std::map<std::pair<std::string, std::string>, WantedOfFile> files;
  for (const std::unique_ptr<WatchedImage>& image : images) {
    const auto known = by_image_.find(image->entry.id);
    if (known == by_image_.end()) continue;
    std::set<std::uint64_t> made(known->second.calls.begin(), known->second.calls.end());
    made.insert(known->second.samples.begin(), known->second.samples.end());
    for (const ModuleEntry& module : image->modules.all()) {
      made.erase(made.lower_bound(module.low), made.lower_bound(module.high));
      if (module.path.empty() || module.path[0] != '/') continue;
      WantedOfFile& file = files[{module.path, module.build_id}];
      if (file.module == 0) file.module = module.id;
      file.path = module.path;
      file.build_id = module.build_id;
      const auto want = [&](const auto& addresses, auto& into) {
        for (const std::uint64_t address : addresses)
          if (address >= module.low && address < module.high) into.insert(address - module.bias);
      };
      want(known->second.calls, file.places);
      want(known->second.objects, file.places);
      want(known->second.samples, file.places);
      want(known->second.samples, file.samples);
    }
    if (!made.empty()) write_made(image->pid, made, symbols, id);
  }
  std::size_t left = kMostCode;
  for (const auto& [name, wanted] : files)
    if (!wanted.places.empty()) write_file(wanted, symbols, code, id, left);
}

}  // namespace threadmark
