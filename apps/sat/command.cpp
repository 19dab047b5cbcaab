// The definitions of the common parts of commands.
#include "command.hpp"

#include "students/interruption.hpp"

namespace sat {
namespace {

constexpr std::uint64_t kMostThreads = 1024;

}  // namespace

Team Input::team() const {
  return Team(threads != 0 ? static_cast<unsigned>(threads) : students::available_processors(),
              students::check_signals);
}

void add_threads(students::Options options, std::uint64_t& threads) {
  options.number("--threads", "Threads [the processors that the process may use]", 1, kMostThreads,
                 threads);
}

void add_input(students::Options options, Input& input) {
  options.text("file", input.path, "The SAT file").required().type("FILE");
  add_threads(options, input.threads);
  input.has_partial = true;
  options.flag("--partial", input.partial,
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
