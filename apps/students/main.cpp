// `tmk-students`: finds the command, and makes each problem one sentence and an exit status.
#include <cstdio>
#include <exception>
#include <new>

#include "complaint.hpp"
#include "interruption.hpp"
#include "options.hpp"

namespace {

int complain(const char* sentence, students::Status status) {
  std::fprintf(stderr, "tmk-students: %s\n", sentence);
  return status;
}

int run(int argc, char** argv) {
  CLI::App app(
      "Test data of students in four files, as fast as they can be written, or as slowly "
      "as threads that take turns write them; and the join of the four files.",
      "tmk-students");
  app.require_subcommand(1);
  CLI::App* const generate = app.add_subcommand("generate", "Write the four files");
  CLI::App* const limit =
      app.add_subcommand("limit", "Write the same bytes from memory: the limit for generate");
  CLI::App* const merge =
      app.add_subcommand("merge", "Join the four files by student number, and grade");
  CLI::App* const node =
      app.add_subcommand("node", "Join one of the four files with what the node before sends");
  CLI::App* const pipeline = app.add_subcommand(
      "pipeline", "Start all four nodes here and see to them: the result of merge");
  CLI::App* const bench = app.add_subcommand(
      "bench", "Compare all writers in turns; bench --help explains its options");
  CLI::App* const writers = app.add_subcommand(
      "writers",
      "List the writers: name, threads (0: --threads), the writer with which it is compared, "
      "whether it flushes each line, what it is");
  const students::Command run_generate = students::add_generate(*generate);
  const students::Command run_limit = students::add_limit(*limit);
  const students::Command run_merge = students::add_merge(*merge);
  const students::Command run_node = students::add_node(*node);
  const students::Command run_pipeline = students::add_pipeline(*pipeline);
  const students::Command run_bench = students::add_bench(*bench);
  const students::Command run_writers = students::add_writers(*writers);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    if (app.get_subcommands().empty()) {
      const std::string given = argc > 1 ? ", not '" + std::string(argv[1]) + "'" : "";
      const std::string sentence =
          "The first word must be a command, generate, limit, merge, node, pipeline, bench or "
          "writers" +
          given + "; --help explains them.";
      return complain(sentence.c_str(), students::kUsage);
    }
    return complain((std::string(error.what()) + "; --help lists the options.").c_str(),
                    students::kUsage);
  }
  if (*generate) run_generate();
  if (*limit) run_limit();
  if (*merge) run_merge();
  if (*node) run_node();
  if (*pipeline) run_pipeline();
  if (*bench) run_bench();
  if (*writers) run_writers();
  return students::kOk;
}

}  // namespace

int main(int argc, char** argv) {
  students::note_signals();
  int interrupted = 0;
  try {
    return run(argc, argv);
  } catch (const students::BadRequest& error) {
    return complain(error.what(), students::kUsage);
  } catch (const students::Interrupted& error) {
    interrupted = error.signal;
  } catch (const students::Incomplete& error) {
    return complain(error.what(), students::kIncomplete);
  } catch (const std::bad_alloc&) {
    return complain(
        "There is not enough memory; choose a smaller --bufsize (-b) or --memory, or fewer "
        "--threads.",
        students::kFailed);
  } catch (const std::exception& error) {
    return complain(error.what(), students::kFailed);
  }
  students::end_by_signal(interrupted);
}
