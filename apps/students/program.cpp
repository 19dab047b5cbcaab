// Finds the command, and makes each problem one sentence and an exit status.
#include "program.hpp"

#include <cstddef>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "interruption.hpp"

namespace students {

namespace {

int complain(const Program& program, const std::string& sentence, Status status) {
  std::fprintf(stderr, "%s: %s\n", program.name, sentence.c_str());
  return status;
}

int run(const Program& program, int argc, char** argv) {
  CLI::App app(program.about, program.name);
  app.require_subcommand(1);
  std::vector<CLI::App*> apps;
  std::vector<Run> runs;
  std::string names;
  for (const Entry& each : program.commands) {
    apps.push_back(app.add_subcommand(each.name, each.summary));
    runs.push_back(each.add(*apps.back()));
    const bool last = apps.size() == program.commands.size();
    names += (apps.size() == 1 ? "" : last ? " or " : ", ");
    names += each.name;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    if (app.get_subcommands().empty()) {
      const std::string given = argc > 1 ? ", not '" + std::string(argv[1]) + "'" : "";
      return complain(
          program, "The first word must be a command, " + names + given + "; --help explains them.",
          kUsage);
    }
    return complain(program, std::string(error.what()) + "; --help lists the options.", kUsage);
  }
  for (std::size_t i = 0; i < apps.size(); ++i) {
    if (*apps[i]) return runs[i]();
  }
  return kUsage;
}

}  // namespace

int main_of(const Program& program, int argc, char** argv) {
  note_signals();
  int interrupted = 0;
  try {
    return run(program, argc, argv);
  } catch (const BadRequest& error) {
    return complain(program, error.what(), kUsage);
  } catch (const Interrupted& error) {
    interrupted = error.signal;
  } catch (const Incomplete& error) {
    return complain(program, error.what(), kIncomplete);
  } catch (const std::bad_alloc&) {
    return complain(program, program.no_memory, kFailed);
  } catch (const std::exception& error) {
    return complain(program, error.what(), kFailed);
  }
  end_by_signal(interrupted);
}

}  // namespace students
