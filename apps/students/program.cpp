// Finds the command, and makes each problem one sentence and an exit status.
#include "program.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "interruption.hpp"

namespace students {

Option Option::type(const char* name) const {
  option_->type_name(name);
  return *this;
}

Option Option::required() const {
  option_->required();
  return *this;
}

Option Option::hidden() const {
  option_->group("");
  return *this;
}

void Option::excludes(Option other) const { option_->excludes(other.option_); }

Option Options::flag(const std::string& names, bool& value, const std::string& help) {
  return Option(*app_->add_flag(names, value, help));
}

Option Options::text(const std::string& names, std::string& value, const std::string& help) {
  return Option(*app_->add_option(names, value, help));
}

Option Options::parsed(const std::string& names,
                       const std::function<void(const std::string&)>& take,
                       const std::string& help) {
  return Option(*app_->add_option_function<std::string>(names, take, help));
}

Option Options::number(const std::string& names, const std::string& help, std::uint64_t least,
                       std::uint64_t most, const std::function<void(std::uint64_t)>& take) {
  const auto parse = [=](const std::string& text) {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, number);
    if (result.ec != std::errc() || result.ptr != end || number < least || number > most) {
      throw BadRequest(names + " must be a whole number from " + std::to_string(least) + " to " +
                       std::to_string(most) + ", not '" + text + "'.");
    }
    take(number);
  };
  return parsed(names, parse, help).type("N");
}

Option Options::number(const std::string& names, const std::string& help, std::uint64_t least,
                       std::uint64_t most, std::uint64_t& value) {
  return number(names, help, least, most, [&value](std::uint64_t number) { value = number; });
}

void Options::keep_others() { app_->allow_extras(); }

void Options::pass_on() {
  app_->set_help_flag();
  app_->prefix_command();
}

std::vector<std::string> Options::others() const { return app_->remaining(); }

unsigned available_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<unsigned>(CPU_COUNT(&set));
  return std::max(1U, std::thread::hardware_concurrency());
}

void print(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
    throw Failure(std::string("Standard output cannot be written (") + std::strerror(errno) +
                  "); lead it elsewhere.");
  }
}

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
    runs.push_back(each.add(Options(*apps.back())));
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
