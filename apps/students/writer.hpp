// A writer: a way to bring the data of a plan into the four files. Each writer is one file of
// writers/, which registers itself; protocols.md there explains its use of threads.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "data.hpp"
#include "output.hpp"
#include "plan.hpp"
#include "progress.hpp"

namespace students {

struct Job {
  const Plan& plan;
  const Data& data;
  Output& output;
  Progress& progress;
};

struct Writer {
  std::string_view name;
  std::string_view summary;
  // The writer with the same method on one thread, the base of its comparison; its own name if it
  // can do that itself.
  std::string_view serial;
  bool flushes;      // each line is a write of its own, which is slow
  unsigned threads;  // its fixed number; 0: that of the plan
  // Writes all files and calls progress. Throws Failure or Interrupted; none of its threads is left
  // then.
  void (*run)(const Job& job);
  // An upper bound of the memory that its buffers take.
  std::uint64_t (*memory_bytes)(const Plan& plan);
};

// All writers, in the order of their names.
const std::vector<Writer>& writers();

struct Registration {
  explicit Registration(const Writer& writer);
};

}  // namespace students
