// `tmk-students generate`: the four files, by the chosen writer.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>

#include "complaint.hpp"
#include "options.hpp"
#include "writer.hpp"

namespace students {
namespace {

const Writer& find(const std::string& name) {
  std::string names;
  for (const Writer& each : writers()) {
    if (each.name == name) return each;
    names += (names.empty() ? "" : ", ") + std::string(each.name);
  }
  throw BadRequest("--writer must be one of " + names + ", not '" + name + "'.");
}

unsigned threads_of(const Writer& writer, const Wishes& wishes) {
  if (writer.threads == 0) {
    return static_cast<unsigned>(
        wishes.threads.value_or(std::min<std::uint64_t>(available_processors(), kMostThreads)));
  }
  if (wishes.threads && *wishes.threads != writer.threads) {
    throw BadRequest("The writer " + std::string(writer.name) + " always writes with " +
                     std::to_string(writer.threads) +
                     (writer.threads == 1 ? " thread" : " threads") +
                     "; leave --threads out or choose --writer fast.");
  }
  return writer.threads;
}

void generate(const Plan& plan, const Writer& writer) {
  if (plan.verbose) {
    print(std::to_string(plan.students) + " students, " + std::to_string(plan.exercises) +
          " exercises, blocks of " + std::to_string(plan.block) + ", writer " +
          std::string(writer.name) + ", threads " + std::to_string(plan.threads) + ", seed " +
          std::to_string(plan.seed) + "\n");
  }
  const auto start = std::chrono::steady_clock::now();
  std::array<std::uint64_t, kFiles> sizes{};
  {
    const Data data(plan);
    Output output(plan.folder, plan.fsync);
    Progress progress(plan.students, isatty(STDERR_FILENO) != 0);
    writer.run({plan, data, output, progress});
    sizes = output.commit();
  }
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  if (plan.verbose) {
    for (std::size_t i = 0; i < kFiles; ++i) {
      print(std::string(kFileNames[i]) + ": " + std::to_string(sizes[i]) + " bytes\n");
    }
    char text[64];
    std::snprintf(text, sizeof text, "memory: %.1f MiB at most\n",
                  static_cast<double>(peak_kib()) / 1024);
    print(text);
  }
  print("Generation took " + milliseconds(elapsed.count()) + "\n");
}

}  // namespace

Command add_generate(Options options) {
  struct Given {
    Wishes wishes;
    std::string writer = "fast";
    bool serialized = false;
  };
  const auto given = std::make_shared<Given>();
  add_data_options(options, given->wishes);
  std::string names;
  for (const Writer& each : writers()) {
    names += "\n    " + std::string(each.name) + ": " + std::string(each.summary);
  }
  const Option writer =
      options.text("--writer", given->writer, "How the files are written [fast]:" + names);
  options.flag("-z,--serialized", given->serialized, "The same as --writer sequential")
      .excludes(writer);
  add_threads(options, given->wishes, "the processors that the process may use");
  options.flag("-v,--verbose", given->wishes.plan.verbose, "Say what is done, with the seed");
  return [given] {
    const Writer& chosen = find(given->serialized ? "sequential" : given->writer);
    Plan plan = finish(given->wishes);
    plan.threads = threads_of(chosen, given->wishes);
    check_memory(plan, chosen.memory_bytes(plan), chosen.threads == 0);
    generate(plan, chosen);
  };
}

}  // namespace students
