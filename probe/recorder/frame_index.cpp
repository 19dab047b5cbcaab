// See frame_index.hpp. Files and tables may be damaged: every read is checked, every loop bounded.
#include "frame_index.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "probe/unwind/frame_table.hpp"
#include "system.hpp"

namespace threadmark {
namespace {

constexpr std::size_t kMostNames = std::size_t{1} << 20;

template <class Type>
bool read_at(const Descriptor& file, std::uint64_t offset, Type* to, std::size_t count) {
  const std::size_t bytes = count * sizeof(Type);
  return ::pread(file.get(), to, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
}

void put(std::vector<unsigned char>& to, std::uint32_t number) {
  for (int shift = 0; shift < 32; shift += 8)
    to.push_back(static_cast<unsigned char>(number >> shift));
}

bool fits(std::uint64_t from, std::uint64_t base) {
  const auto distance = static_cast<std::int64_t>(from - base);
  return distance >= std::numeric_limits<std::int32_t>::min() &&
         distance <= std::numeric_limits<std::int32_t>::max();
}

}  // namespace

Section find_frames(const std::string& path) {
  const Descriptor file = open_to_read(path.c_str());
  Elf64_Ehdr head{};
  if (!file || !read_at(file, 0, &head, 1) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
      head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_shentsize != sizeof(Elf64_Shdr) ||
      head.e_shstrndx >= head.e_shnum) {
    return {};
  }
  std::vector<Elf64_Shdr> sections(head.e_shnum);
  if (!read_at(file, head.e_shoff, sections.data(), sections.size())) return {};
  const Elf64_Shdr& of_names = sections[head.e_shstrndx];
  if (of_names.sh_size > kMostNames) return {};
  std::string names(of_names.sh_size, '\0');
  if (!read_at(file, of_names.sh_offset, names.data(), names.size())) return {};
  for (const Elf64_Shdr& each : sections) {
    if ((each.sh_flags & SHF_ALLOC) != 0 && each.sh_type != SHT_NOBITS &&
        each.sh_name < names.size() && std::strcmp(names.c_str() + each.sh_name, ".eh_frame") == 0)
      return {each.sh_addr, each.sh_offset, each.sh_size};
  }
  return {};
}

std::vector<unsigned char> index_frames(const unwind::Image& image, std::uint64_t address,
                                        std::uint64_t size, std::uint64_t place) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> found;  // first address, description
  const std::uint64_t end = address + size;
  for (std::uint64_t at = address; at >= address && at + 4 <= end;) {
    unwind::Reader in(image, at);
    const auto length = in.number<std::uint32_t>();
    if (!in.good() || length == 0xffffffffU) break;
    unwind::detail::Description about{.first = unwind::Reader(image),
                                      .program = unwind::Reader(image)};
    unwind::Row row;
    if (length != 0 && unwind::detail::read_description(image, at, about, row) &&
        fits(about.from, place) && fits(at, place))
      found.emplace_back(about.from, at);
    at += 4 + std::uint64_t{length};
  }
  if (found.empty()) return {};
  std::sort(found.begin(), found.end());
  constexpr unsigned char kTable = unwind::kRelativeToData | unwind::kSigned4;
  std::vector<unsigned char> index{1, unwind::kOmitted, unwind::kUnsigned4, kTable};
  put(index, static_cast<std::uint32_t>(found.size()));
  for (const auto& [from, description] : found) {
    put(index, static_cast<std::uint32_t>(from - place));
    put(index, static_cast<std::uint32_t>(description - place));
  }
  return index;
}

}  // namespace threadmark
