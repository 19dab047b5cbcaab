// The definitions of what commands share.
#include "command.hpp"

#include <sched.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <thread>

#include "students/interruption.hpp"

namespace sat {
namespace {

constexpr std::uint64_t kMostThreads = 1024;

unsigned available_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<unsigned>(CPU_COUNT(&set));
  return std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace

CLI::Option* add_number(CLI::App& app, const std::string& names, const std::string& help,
                        std::uint64_t least, std::uint64_t most, std::uint64_t& value) {
  const auto parse = [=, &value](const std::string& text) {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, number);
    if (result.ec != std::errc() || result.ptr != end || number < least || number > most) {
      throw students::BadRequest(names + " must be a whole number from " + std::to_string(least) +
                                 " to " + std::to_string(most) + ", not '" + text + "'.");
    }
    value = number;
  };
  return app.add_option_function<std::string>(names, parse, help)->type_name("N");
}

Team Input::team() const {
  return Team(threads != 0 ? static_cast<unsigned>(threads) : available_processors(),
              students::check_signals);
}

void add_threads(CLI::App& app, std::uint64_t& threads) {
  add_number(app, "--threads", "Threads [the processors that the process may use]", 1, kMostThreads,
             threads);
}

void add_input(CLI::App& app, Input& input) {
  app.add_option("file", input.path, "The SAT file")->required()->type_name("FILE");
  add_threads(app, input.threads);
  input.has_partial = true;
  app.add_flag("--partial", input.partial,
               "Go on where something is wrong, say what, and end with status 1");
}

void name_file(const Input& input, const std::function<void()>& call) {
  try {
    call();
  } catch (const BadFile& error) {
    const bool helps = input.has_partial && !input.partial && error.problem.record != kNoRecord;
    throw students::Failure(input.path + ": " + error.what() +
                            (helps ? " --partial reads what it can of the rest." : ""));
  }
}

void print(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
    throw students::Failure(std::string("Standard output cannot be written (") +
                            std::strerror(errno) + "); lead it elsewhere.");
  }
}

std::string row(const std::string& name, const std::string& text) {
  constexpr std::size_t kWidth = 12;
  return name + std::string(name.size() < kWidth ? kWidth - name.size() : 1, ' ') + text + "\n";
}

Outcome print_problems(const std::vector<Problem>& problems, std::uint64_t more) {
  if (problems.empty()) return Outcome::kWhole;
  constexpr std::size_t kMost = 20;
  const std::uint64_t all = problems.size() + more;
  std::string text = row("PARTIAL", "this is not the whole file; problems: " + std::to_string(all));
  for (std::size_t i = 0; i < problems.size() && i < kMost; ++i) {
    text += "  " + sentence(problems[i]) + "\n";
  }
  if (all > kMost) {
    text += "  and " + std::to_string(all - kMost) + " more.\n";
  }
  print(text);
  return Outcome::kPartial;
}

}  // namespace sat
