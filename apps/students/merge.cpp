// `tmk-students merge`: the options, and the output at the end.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "merging/merge.hpp"
#include "merging/result_files.hpp"
#include "options.hpp"

namespace students {
namespace {

void say(const MergeFacts& facts) {
  print(std::to_string(facts.complete) + " students, " + std::to_string(facts.incomplete) +
        " incomplete, " + std::to_string(facts.input_bytes) + " bytes read, partitions " +
        std::to_string(facts.partitions) + ", threads " + std::to_string(facts.threads) +
        ", temporary file " + std::to_string(facts.spilled_bytes) + " bytes, memory " +
        std::to_string(peak_kib()) + " KiB\n");
}

void run(const MergePlan& plan, bool verbose) {
  const auto start = std::chrono::steady_clock::now();
  const MergeFacts facts = merge(plan);
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  if (facts.above > 0) {
    std::fprintf(stderr, "tmk-students: %s\n", above_sentence(facts.above, plan.maximum).c_str());
  }
  if (verbose) say(facts);
  print("Merge took " + milliseconds(elapsed.count()) + "\n");
  if (facts.incomplete > 0) throw incomplete_students(facts.incomplete, plan.target);
}

}  // namespace

Command add_merge(Options options) {
  struct Given {
    MergePlan plan;
    std::optional<std::uint64_t> threads;
    bool verbose = false;
  };
  const auto given = std::make_shared<Given>();
  MergePlan& plan = given->plan;
  options.text("--in", plan.folder, "The folder of the four files [.]").type("DIR");
  options.text("-o,--output", plan.target, "The result [summary.txt]").type("FILE");
  add_size(options, "--memory", "What the process may take [1G]", kLeastMemoryBytes,
           [&plan](auto bytes) { plan.memory_bytes = bytes; });
  options.number("--threads", "Threads [the processors that the process may use]", 1, kMostThreads,
                 [given](auto number) { given->threads = number; });
  add_points(options, plan.maximum);
  options.flag("-v,--verbose", given->verbose, "Say what was done");
  return [given] {
    MergePlan chosen = given->plan;
    chosen.threads = static_cast<unsigned>(
        given->threads.value_or(std::min<std::uint64_t>(available_processors(), kMostThreads)));
    chosen.progress = isatty(STDERR_FILENO) != 0;
    run(chosen, given->verbose);
  };
}

}  // namespace students
