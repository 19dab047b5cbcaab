// Options that several commands share, and numbers in the form of user input.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "plan.hpp"
#include "program.hpp"

namespace students {

// The values of the user; finish() gives absent ones their defaults.
struct Wishes {
  Plan plan;
  std::optional<std::uint64_t> block;
  std::optional<std::uint64_t> seed;
  std::optional<std::uint64_t> threads;
};

// An option whose value is a number of bytes, with K, M, G or T for powers of 1024; any other
// value, or less than `least`, is a BadRequest.
void add_size(Options options, const std::string& names, const std::string& help,
              std::uint64_t least, const std::function<void(std::uint64_t)>& take);

// -s -e -b --seed --out --fsync
void add_data_options(Options options, Wishes& wishes);
// `absent` describes the default in the help.
void add_threads(Options options, Wishes& wishes, const std::string& absent);

// --points: the full marks of the exam, an exercise and the project.
void add_points(Options options, std::uint32_t& maximum);

// The plan with every default filled in, but for the threads.
Plan finish(const Wishes& wishes);

// Throws BadRequest if the buffers of the plan need more than they may. `per_thread` tells the
// remedy.
void check_memory(const Plan& plan, std::uint64_t bytes, bool per_thread);

// The most memory that the process had so far, from the kernel; 0: not known.
std::uint64_t peak_kib();

std::string milliseconds(double elapsed_ms);

// The commands of this program: each function adds its command, and returns the function that runs
// it.
using Command = std::function<void()>;
Command add_generate(Options options);
Command add_limit(Options options);
Command add_bench(Options options);
Command add_writers(Options options);
Command add_merge(Options options);
Command add_node(Options options);
Command add_pipeline(Options options);

}  // namespace students
