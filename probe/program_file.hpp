// Reads from a program's file whether libraries can be preloaded into it. The recorder asks before
// it starts the first program. The agent asks before it starts another, when it may not call
// malloc.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace threadmark {

#if defined(__x86_64__)
inline constexpr unsigned kMachine = EM_X86_64;
#elif defined(__aarch64__)
inline constexpr unsigned kMachine = EM_AARCH64;
#else
#error "the probe knows x86-64 and aarch64"
#endif

struct ProgramFile {
  enum Loader { none, of_musl, of_glibc };
  bool of_machine = false;  // an ELF file of this machine
  Loader loader = none;     // none: the program is static
  // The runtimes of sanitizers that the program needs, by the names in its file, each with a colon
  // behind it.
  char runtimes[256] = {};
  bool runtimes_fit = true;  // they can be preloaded by these names
};

// A sanitizer's runtime also wraps functions that the agent wraps, and AddressSanitizer ends the
// program if another library comes before its runtime.
inline bool is_runtime(const char* library) {
  const char* slash = std::strrchr(library, '/');
  const char* name = slash != nullptr ? slash + 1 : library;
  for (const char* each :
       {"libclang_rt.", "libasan.so", "libhwasan.so", "liblsan.so", "libtsan.so", "libubsan.so"})
    if (std::strncmp(name, each, std::strlen(each)) == 0) return true;
  return false;
}

// `read(offset, to, size)` reads all of `size` bytes of a file, or returns false.
template <class Read>
class ProgramReader {
 public:
  explicit ProgramReader(Read read) : read_(read) {}

  ProgramFile read() {
    ProgramFile to;
    if (!read_(std::uint64_t{0}, &head_, sizeof head_) ||
        std::memcmp(head_.e_ident, ELFMAG, SELFMAG) != 0 || head_.e_ident[EI_CLASS] != ELFCLASS64 ||
        head_.e_machine != kMachine)
      return to;
    to.of_machine = true;
    Elf64_Phdr segment;
    if (!find(segment, [](const Elf64_Phdr& each) { return each.p_type == PT_INTERP; })) return to;
    char name[64] = {};
    const std::size_t size = segment.p_filesz < sizeof name ? segment.p_filesz : sizeof name - 1;
    if (!read_(segment.p_offset, name, size)) return to;
    to.loader =
        std::strstr(name, "ld-musl") != nullptr ? ProgramFile::of_musl : ProgramFile::of_glibc;
    if (find(segment, [](const Elf64_Phdr& each) { return each.p_type == PT_DYNAMIC; }))
      read_needed(segment, to);
    return to;
  }

 private:
  template <class Wanted>
  bool find(Elf64_Phdr& to, Wanted wanted) {
    for (unsigned i = 0; i < head_.e_phnum; ++i)
      if (!read_(head_.e_phoff + i * sizeof to, &to, sizeof to))
        return false;
      else if (wanted(to))
        return true;
    return false;
  }

  template <class Each>
  void each_dynamic(const Elf64_Phdr& segment, Each each) {
    constexpr std::size_t kAtOnce = 32;
    Elf64_Dyn some[kAtOnce];
    const std::size_t count = segment.p_filesz / sizeof some[0];
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t left = count - i < kAtOnce ? count - i : kAtOnce;
      if (i % kAtOnce == 0 &&
          !read_(segment.p_offset + i * sizeof some[0], some, left * sizeof some[0]))
        return;
      const Elf64_Dyn& entry = some[i % kAtOnce];
      if (entry.d_tag == DT_NULL) return;
      each(entry);
    }
  }

  void read_needed(const Elf64_Phdr& dynamic, ProgramFile& to) {
    std::uint64_t address = 0, size = 0;
    each_dynamic(dynamic, [&](const Elf64_Dyn& entry) {
      if (entry.d_tag == DT_STRTAB) address = entry.d_un.d_ptr;
      if (entry.d_tag == DT_STRSZ) size = entry.d_un.d_val;
    });
    Elf64_Phdr segment;
    if (!find(segment, [&](const Elf64_Phdr& each) {
          return each.p_type == PT_LOAD && address - each.p_vaddr < each.p_filesz;
        }))
      return;
    const std::uint64_t strings = segment.p_offset + (address - segment.p_vaddr);
    each_dynamic(dynamic, [&](const Elf64_Dyn& entry) {
      if (entry.d_tag != DT_NEEDED || entry.d_un.d_val >= size) return;
      char name[sizeof to.runtimes] = {};
      const std::uint64_t left = size - entry.d_un.d_val;
      if (!read_(strings + entry.d_un.d_val, name,
                 left < sizeof name ? static_cast<std::size_t>(left) : sizeof name - 1))
        return;
      if (!is_runtime(name)) return;
      const std::size_t used = std::strlen(to.runtimes), length = std::strlen(name);
      // The loader takes colons and spaces for separators.
      to.runtimes_fit &= used + length + 2 <= sizeof to.runtimes && name[length] == '\0' &&
                         std::strcspn(name, ": ") == length;
      if (!to.runtimes_fit) return;
      std::strcpy(to.runtimes + used, name);
      std::strcpy(to.runtimes + used + length, ":");
    });
  }

  Read read_;
  Elf64_Ehdr head_{};
};

template <class Read>
ProgramFile read_program(Read read) {
  return ProgramReader<Read>(read).read();
}

}  // namespace threadmark
