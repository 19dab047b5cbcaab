// Runs litmus tests and scenarios, and prints the results as JSON lines for test_model.py.
//   model litmus: the explorer against the rules of the C++ memory model
//   model names: the names of the scenarios
//   model scenarios [PREEMPTIONS [NAME]...]: these or all, and the orders that were at work
//   model without FILE LINE COLUMN PART PREEMPTIONS [NAME]...: 0 if one of these or all fails with
//                                                              that order left out
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "explorer.hpp"
#include "scenario.hpp"

namespace {

using model::Outcome;
using model::Settings;

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out + "\"";
}

// Whether the failure contains one of the words between the bars.
bool contains_one(const std::string& failure, const std::string& words) {
  for (std::size_t at = 0; at <= words.size();) {
    const std::size_t end = std::min(words.find('|', at), words.size());
    if (failure.find(words.substr(at, end - at)) != std::string::npos) return true;
    at = end + 1;
  }
  return false;
}

// Runs each test with the reduction and without; both must agree.
bool run_litmus() {
  bool ok = true;
  for (const auto& test : model::litmus_tests()) {
    for (const bool reduced : {true, false}) {
      Settings settings;
      settings.reduced = reduced;
      const Outcome outcome = model::explore(settings, test.run);
      const bool right = test.failure.empty()
                             ? outcome.failure.empty() && outcome.observed == test.allowed
                             : contains_one(outcome.failure, test.failure);
      ok = ok && right;
      std::string seen;
      for (const int value : outcome.observed) {
        seen += (seen.empty() ? "" : ",") + std::to_string(value);
      }
      std::printf(
          "{\"litmus\":%s,\"reduced\":%s,\"ok\":%s,\"executions\":%llu,"
          "\"observed\":[%s],\"failure\":%s}\n",
          quoted(test.name).c_str(), reduced ? "true" : "false", right ? "true" : "false",
          static_cast<unsigned long long>(outcome.executions), seen.c_str(),
          quoted(outcome.failure).c_str());
    }
  }
  return ok;
}

std::string text_of(const std::set<model::Order>& orders) {
  std::string text;
  for (const auto& order : orders) {
    text += (text.empty() ? "[" : ",[") + quoted(order.file) + "," + std::to_string(order.line) +
            "," + std::to_string(order.column) + "," + quoted(order.part) + "]";
  }
  return "[" + text + "]";
}

// Explores the named scenarios in that order, or all. With `until_failure` it stops at the first
// that fails. Returns whether all hold.
bool run_scenarios(const std::vector<std::string>& names, Settings settings, bool until_failure) {
  const std::vector<model::Scenario> all = model::scenarios();
  std::vector<const model::Scenario*> chosen;
  for (const auto& name : names) {
    const auto found = std::ranges::find(all, name, &model::Scenario::name);
    if (found == all.end()) {
      std::fprintf(stderr, "no scenario is called %s\n", name.c_str());
      std::exit(2);
    }
    chosen.push_back(&*found);
  }
  if (names.empty()) {
    for (const auto& each : all) chosen.push_back(&each);
  }
  bool hold = true;
  const unsigned preemptions = settings.preemptions;
  for (const model::Scenario* scenario : chosen) {
    settings.preemptions = std::min(preemptions, scenario->preemptions);
    const auto start = std::chrono::steady_clock::now();
    const Outcome outcome = model::explore(settings, scenario->run);
    hold = hold && outcome.failure.empty();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::printf(
        "{\"scenario\":%s,\"executions\":%llu,\"cut\":%llu,\"seconds\":%.2f,\"failure\":%s,"
        "\"orders\":%s}\n",
        quoted(scenario->name).c_str(), static_cast<unsigned long long>(outcome.executions),
        static_cast<unsigned long long>(outcome.cut), seconds.count(),
        quoted(outcome.failure).c_str(), text_of(outcome.orders).c_str());
    std::fflush(stdout);
    if (until_failure && !hold) break;
  }
  return hold;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto number = [&](std::size_t i) { return static_cast<unsigned>(std::stoul(words[i])); };
  const auto names_from = [&](std::size_t i) {
    return std::vector(words.begin() + static_cast<std::ptrdiff_t>(std::min(i, words.size())),
                       words.end());
  };
  const std::string what = words.empty() ? "" : words[0];
  if (what == "litmus" && words.size() == 1) return run_litmus() ? 0 : 1;
  if (what == "names" && words.size() == 1) {
    for (const auto& scenario : model::scenarios()) std::printf("%s\n", scenario.name.c_str());
    return 0;
  }
  Settings settings;
  if (what == "scenarios") {
    if (words.size() > 1) settings.preemptions = number(1);
    return run_scenarios(names_from(2), settings, false) ? 0 : 1;
  }
  if (what == "without" && words.size() >= 6) {
    settings.without = {words[1], number(2), number(3), words[4]};
    settings.preemptions = number(5);
    return run_scenarios(names_from(6), settings, true) ? 1 : 0;
  }
  std::fprintf(stderr,
               "usage: model litmus | names | scenarios [PREEMPTIONS [NAME]...] | "
               "without FILE LINE COLUMN PART PREEMPTIONS [NAME]...\n");
  return 2;
}
