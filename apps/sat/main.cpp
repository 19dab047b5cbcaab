// `tmk-sat`: finds the command, and makes each problem one sentence and an exit status.
#include <array>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "command.hpp"
#include "students/complaint.hpp"
#include "students/interruption.hpp"

namespace {

int complain(const std::string& sentence, students::Status status) {
  std::fprintf(stderr, "tmk-sat: %s\n", sentence.c_str());
  return status;
}

struct Entry {
  const char* name;
  const char* summary;
  sat::Command (*add)(CLI::App& app);
};
constexpr std::array<Entry, 6> kCommands{{
    {"info", "Version, units, who wrote the file, and records by class", sat::add_info},
    {"check", "Every reference and field, lists and rings, losses, and the round trip",
     sat::add_check},
    {"map", "Make linked objects in two passes, and say how long each took", sat::add_map},
    {"write", "Write the file again from its objects", sat::add_write},
    {"generate", "Write a valid file of any size", sat::add_generate},
    {"replicate", "Write a file with the bodies of another many times", sat::add_replicate},
}};

int run(int argc, char** argv) {
  CLI::App app("Files of the solid modeller ACIS as text (SAT): read, checked, mapped, written.",
               "tmk-sat");
  app.require_subcommand(1);
  std::array<CLI::App*, kCommands.size()> apps{};
  std::array<sat::Command, kCommands.size()> commands;
  std::string names;
  for (std::size_t i = 0; i < kCommands.size(); ++i) {
    apps[i] = app.add_subcommand(kCommands[i].name, kCommands[i].summary);
    commands[i] = kCommands[i].add(*apps[i]);
    names += (i == 0 ? "" : i + 1 == kCommands.size() ? " or " : ", ");
    names += kCommands[i].name;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    if (app.get_subcommands().empty()) {
      const std::string given = argc > 1 ? ", not '" + std::string(argv[1]) + "'" : "";
      return complain(
          "The first word must be a command, " + names + given + "; --help explains them.",
          students::kUsage);
    }
    return complain(std::string(error.what()) + "; --help lists the options.", students::kUsage);
  }
  for (std::size_t i = 0; i < kCommands.size(); ++i) {
    if (!*apps[i]) continue;
    return commands[i]() == sat::Outcome::kWhole ? students::kOk : students::kFailed;
  }
  return students::kUsage;
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
  } catch (const std::bad_alloc&) {
    return complain("There is not enough memory for the file; free some, or split the file.",
                    students::kFailed);
  } catch (const std::exception& error) {
    return complain(error.what(), students::kFailed);
  }
  students::end_by_signal(interrupted);
}
