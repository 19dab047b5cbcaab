// What the loader says of its modules. All of this takes the loader's lock for a moment, so it is
// for the agent's constructor and for the wrapper of dlclose, which had that lock just before.
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

// Calls `each` with the modules in the order in which they were loaded until it returns false.
// What is returned differs after any module was unloaded. 0: the loader says nothing.
std::uint64_t each_loaded(bool (*each)(const Loaded& module, void* argument), void* argument);

template <class Each>
std::uint64_t each_loaded(Each each) {
  return each_loaded(
      [](const Loaded& module, void* argument) { return (*static_cast<Each*>(argument))(module); },
      &each);
}

// How many of the modules, in the same order, were loaded with the program itself: those are never
// unloaded. `own` is an address of the agent.
std::size_t count_of_start(std::uint64_t own);

// Whether `handle`, as dlopen gave it, is one of these.
bool is_of_start(const void* handle);

}  // namespace threadmark::agent
