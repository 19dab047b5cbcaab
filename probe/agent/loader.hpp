// The loader's view of its modules. Each function takes the loader's lock for a moment, so only the
// agent's constructor and the wrapper of dlclose call them: dlclose has just had that lock.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>

namespace threadmark::agent {

// A module as the loader knows it.
struct Loaded {
  const char* path;
  std::uint64_t bias;
  const Elf64_Phdr* headers;
  std::size_t count;
};

// Calls `each` with the modules in the order in which they were loaded until it returns false. The
// returned number differs after any module was unloaded. 0: the loader gives no number.
std::uint64_t each_loaded(bool (*each)(const Loaded& module, void* argument), void* argument);

template <class Each>
std::uint64_t each_loaded(Each each) {
  return each_loaded(
      [](const Loaded& module, void* argument) { return (*static_cast<Each*>(argument))(module); },
      &each);
}

// The number of modules, in the same order, that were loaded with the program itself and are never
// unloaded. `own` is an address of the agent.
std::size_t count_of_start(std::uint64_t own);

// Whether `handle`, a result of dlopen, belongs to such a module.
bool is_of_start(const void* handle);

}  // namespace threadmark::agent
