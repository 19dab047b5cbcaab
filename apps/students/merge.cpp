// `tmk-students merge`: the options, and what is said at the end.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>

#include "complaint.hpp"
#include "merging/merge.hpp"
#include "options.hpp"

namespace students {
namespace {

void say(const MergeFacts& facts) {
  print(std::to_string(facts.complete) + " students, " + std::to_string(facts.incomplete) +
        " incomplete, " + std::to_string(facts.input_bytes) + " bytes read, partitions " +
        std::to_string(facts.partitions) + ", threads " + std::to_string(facts.threads) +
        ", temporary file " + std::to_string(facts.spilled_bytes) + " bytes\n");
}

void run(const MergePlan& plan, bool verbose) {
  const auto start = std::chrono::steady_clock::now();
  const MergeFacts facts = merge(plan);
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  if (facts.above > 0) {
    std::fprintf(stderr,
                 "tmk-students: %llu lines have points above %u, which count in full; choose the "
                 "maximum with --points.\n",
                 static_cast<unsigned long long>(facts.above), plan.maximum);
  }
  if (verbose) say(facts);
  print("Merge took " + milliseconds(elapsed.count()) + "\n");
  if (facts.incomplete > 0) {
    throw Incomplete(std::to_string(facts.incomplete) + " students are not in all four files; " +
                     list_of(plan.target) + " lists them with the files that lack them.");
  }
}

}  // namespace

Command add_merge(CLI::App& app) {
  struct Given {
    MergePlan plan;
    std::optional<std::uint64_t> threads;
    bool verbose = false;
  };
  const auto given = std::make_shared<Given>();
  MergePlan& plan = given->plan;
  app.add_option("--in", plan.folder, "The folder of the four files [.]")->type_name("DIR");
  app.add_option("-o,--output", plan.target, "The result [summary.txt]")->type_name("FILE");
  add_size(app, "--memory", "What the process may take [1G]", kLeastMemoryBytes,
           [&plan](auto bytes) { plan.memory_bytes = bytes; });
  add_number(app, "--threads", "Threads [the processors that the process may use]", 1, kMostThreads,
             [given](auto number) { given->threads = number; });
  add_number(app, "--points", "The most points of the exam, an exercise and the project [5]", 1,
             kMostPoints,
             [&plan](auto number) { plan.maximum = static_cast<std::uint32_t>(number); });
  app.add_flag("-v,--verbose", given->verbose, "Say what was done");
  return [given] {
    MergePlan chosen = given->plan;
    chosen.threads = static_cast<unsigned>(
        given->threads.value_or(std::min<std::uint64_t>(available_processors(), kMostThreads)));
    chosen.progress = isatty(STDERR_FILENO) != 0;
    run(chosen, given->verbose);
  };
}

}  // namespace students
