// What a writer is: a way to bring the data of a plan into the four files. Each is one file of
// writers/, which registers itself; protocols.md there says how it uses threads.
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
  // The writer that does the same on one thread, with which it is compared; its own name if it can
  // do so itself.
  std::string_view serial;
  bool flushes;      // each line is a write of its own, so that it is slow
  unsigned threads;  // that it always has; 0: those of the plan
  // Writes all and calls progress. Throws Failure or Interrupted; no thread of it is left then.
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
