// See loader.hpp. A module that a constructor loaded before the agent's constructor ran may be
// unloaded later. So the modules that are never unloaded are those that the program needs, not
// those that are loaded at the start.
#include "probe/agent/loader.hpp"

#include <cstring>

#include "probe/agent/real.hpp"

namespace threadmark::agent {

namespace {

constexpr std::size_t kMost = 512;  // modules that the program needs

// Handles of modules that are never unloaded.
constexpr std::size_t kHandles = 2 * kMost;
constinit const void* handles[kHandles]{};

std::size_t place_of(const void* handle) {
  std::size_t at = (reinterpret_cast<std::uint64_t>(handle) * 0x9e3779b97f4a7c15U >> 32) % kHandles;
  while (handles[at] != nullptr && handles[at] != handle) at = (at + 1) % kHandles;
  return at;
}

// The program's headers lead to the loader's list, which is in the order of each_loaded. A handle
// is the address of an entry of that list.
void note_handles(const Elf64_Dyn* dynamic, std::size_t count) {
  const r_debug* loader = nullptr;
  for (; dynamic != nullptr && dynamic->d_tag != DT_NULL; ++dynamic)
    if (dynamic->d_tag == DT_DEBUG) loader = reinterpret_cast<const r_debug*>(dynamic->d_un.d_ptr);
  if (loader == nullptr) return;
  for (const link_map* each = loader->r_map; each != nullptr && count > 0; each = each->l_next) {
    handles[place_of(each)] = each;
    --count;
  }
}

std::uint64_t hash_of(const char* text) {
  std::uint64_t sum = 0xcbf29ce484222325U;
  for (; *text != '\0'; ++text) sum = (sum ^ static_cast<unsigned char>(*text)) * 0x100000001b3U;
  return sum;
}

const char* name_of(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

struct Needing {
  std::uint64_t own_name = 0, file_name = 0;  // hashes
  const Elf64_Dyn* dynamic = nullptr;
  const char* strings = nullptr;
  bool needed = false;
};

Needing needing(const Loaded& module) {
  Needing to;
  to.file_name = hash_of(name_of(module.path));
  for (std::size_t i = 0; i < module.count; ++i)
    if (module.headers[i].p_type == PT_DYNAMIC)
      to.dynamic = reinterpret_cast<const Elf64_Dyn*>(module.bias + module.headers[i].p_vaddr);
  if (to.dynamic == nullptr) return to;
  const Elf64_Dyn* name = nullptr;
  for (const Elf64_Dyn* each = to.dynamic; each->d_tag != DT_NULL; ++each) {
    if (each->d_tag == DT_SONAME) name = each;
    if (each->d_tag != DT_STRTAB) continue;
    // The loader adds the bias in place if the table is writable.
    const std::uint64_t at = each->d_un.d_ptr;
    to.strings = reinterpret_cast<const char*>(at < module.bias ? at + module.bias : at);
  }
  if (to.strings != nullptr && name != nullptr)
    to.own_name = hash_of(to.strings + name->d_un.d_val);
  return to;
}

bool contains(const Loaded& module, std::uint64_t address) {
  for (std::size_t i = 0; i < module.count; ++i) {
    const Elf64_Phdr& each = module.headers[i];
    if (each.p_type == PT_LOAD && address - module.bias - each.p_vaddr < each.p_memsz) return true;
  }
  return false;
}

}  // namespace

std::uint64_t each_loaded(bool (*each)(const Loaded& module, void* argument), void* argument) {
  struct Passed {
    bool (*each)(const Loaded&, void*);
    void* argument;
    std::uint64_t changes;
  } passed{each, argument, 0};
  const auto& iterate = real().dl_iterate_phdr;
  if (iterate == nullptr) return 0;
  iterate(
      [](dl_phdr_info* info, std::size_t, void* to) {
        auto& now = *static_cast<Passed*>(to);
        // Only loads change the upper half; between loads, unloading only adds to the lower.
        now.changes = (static_cast<std::uint64_t>(info->dlpi_adds) << 32 |
                       static_cast<std::uint32_t>(info->dlpi_subs)) +
                      1;
        const Loaded module{info->dlpi_name, info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum};
        return now.each(module, now.argument) ? 0 : 1;
      },
      &passed);
  return passed.changes;
}

bool is_of_start(const void* handle) { return handles[place_of(handle)] != nullptr; }

std::size_t count_of_start(std::uint64_t own) {
  static constinit Needing all[kMost]{};
  std::size_t count = 0, start = 0;
  const auto follow = [&] {
    for (bool more = true; more;) {
      more = false;
      for (std::size_t from = 0; from < count; ++from) {
        if (!all[from].needed || all[from].dynamic == nullptr || all[from].strings == nullptr)
          continue;
        for (const Elf64_Dyn* each = all[from].dynamic; each->d_tag != DT_NULL; ++each) {
          if (each->d_tag != DT_NEEDED) continue;
          const std::uint64_t name = hash_of(name_of(all[from].strings + each->d_un.d_val));
          for (std::size_t to = 0; to < count; ++to) {
            if (all[to].needed || (all[to].own_name != name && all[to].file_name != name)) continue;
            all[to].needed = more = true;
          }
        }
        all[from].dynamic = nullptr;  // followed
      }
    }
    // A module that was loaded before a needed module was loaded with the program.
    for (std::size_t i = 0; i < count; ++i)
      if (all[i].needed) start = i + 1;
  };
  // The outer call holds the loader's lock all the time, so the loader's tables stay in place.
  each_loaded([&](const Loaded&) {
    each_loaded([&](const Loaded& module) {
      if (count == kMost) return false;
      all[count] = needing(module);
      all[count].needed = count == 0 || contains(module, own);
      ++count;
      return true;
    });
    const Elf64_Dyn* program = all[0].dynamic;
    follow();
    note_handles(program, start);
    return false;
  });
  return start;
}

}  // namespace threadmark::agent
