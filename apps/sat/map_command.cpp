// `tmk-sat map`: makes linked objects of a file, and prints the time of each step.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>

#include "command.hpp"
#include "map.hpp"
#include "verify.hpp"

namespace sat {
namespace {

struct Given {
  Input input;
  std::string form = "from_chars";
  bool counted = false;
};

class Clock {
 public:
  // Milliseconds since the last call.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double, std::milli> elapsed = now - last_;
    last_ = now;
    return elapsed.count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

std::string time_row(const char* name, double elapsed_ms, std::size_t bytes) {
  char text[80];
  std::snprintf(text, sizeof text, "%10.3f ms  %8.1f MB/s", elapsed_ms,
                static_cast<double>(bytes) / elapsed_ms / 1000);
  return row(name, text);
}

std::string memory_row(std::size_t bytes) {
  struct rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double peak = static_cast<double>(usage.ru_maxrss) * 1024;
  char text[80];
  std::snprintf(text, sizeof text, "%10.1f MB, %.2f times the file, at the most", peak / 1e6,
                peak / static_cast<double>(bytes));
  return row("memory", text);
}

const Form& form_of(const std::string& name) {
  if (const Form* const form = find_form(name); form != nullptr) return *form;
  std::string names;
  for (const Form& each : forms()) {
    names += (names.empty() ? "" : ", ") + std::string(each.name);
  }
  throw students::BadRequest("--form must be one of " + names + ", not '" + name + "'.");
}

Outcome run(const Given& given) {
  const Input& input = given.input;
  const MapOptions options{
      .form = &form_of(given.form), .partial = input.partial, .counted = given.counted};
  Team team = input.team();
  Bytes bytes = load(input.path, team.check());
  const std::size_t size = bytes.view().size();
  Clock clock;
  Document document = read(std::move(bytes), team, {.partial = input.partial});
  const double framing = clock.lap();
  Model model = make_objects(std::move(document), team, options);
  const double first = clock.lap();
  fill_objects(model, team, options);
  const double second = clock.lap();
  const std::string memory = memory_row(size);
  clock.lap();
  std::vector<Problem> wrong = verify(model, input.partial ? kMostProblems : 1, team.check());
  const double verified = clock.lap();
  if (!input.partial && !wrong.empty()) throw BadFile(wrong.front());
  std::string text = row("records", std::to_string(model.size()));
  text += row("form", given.form + ", " + std::to_string(team.threads()) +
                          (team.threads() == 1 ? " thread" : " threads"));
  text += time_row("framing", framing, size);
  text += time_row("pass 1", first, size);
  text += time_row("pass 2", second, size);
  text += time_row("mapping", first + second, size);
  text += time_row("verifying", verified, size);
  print(text + memory);
  std::vector<Problem> problems = std::move(model.problems);
  std::ranges::move(wrong, std::back_inserter(problems));
  return print_problems(problems, model.more_problems);
}

}  // namespace

Command add_map(students::Options options) {
  const auto given = std::make_shared<Given>();
  add_input(options, given->input);
  std::string names;
  for (const Form& each : forms()) {
    names += "\n    " + std::string(each.name) + ": " + std::string(each.summary);
  }
  options.text("--form", given->form, "How fields are read [from_chars]:" + names).type("NAME");
  options.flag("--counted", given->counted,
               "Count each reference at its target, as handles with a count do");
  return [given] {
    Outcome outcome = Outcome::kWhole;
    name_file(given->input, [&] { outcome = run(*given); });
    return outcome;
  };
}

}  // namespace sat
