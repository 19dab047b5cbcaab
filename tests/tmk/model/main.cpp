// Runs litmus tests and scenarios, and prints what happened as JSON lines for test_model.py.
//   model litmus: the explorer against what the C++ memory model says
//   model scenarios [PREEMPTIONS [NAME]]: all of them, and which orders were at work
//   model without FILE LINE COLUMN PART PREEMPTIONS: 0 if one fails with that order left out
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

// Once with the reduction and once without, which must agree.
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

bool run_scenarios(unsigned preemptions, const char* only) {
  bool ok = true;
  for (const auto& scenario : model::scenarios()) {
    if (scenario.name.find(only) == std::string::npos) continue;
    Settings settings;
    settings.preemptions = std::min(preemptions, scenario.preemptions);
    const auto start = std::chrono::steady_clock::now();
    const Outcome outcome = model::explore(settings, scenario.run);
    ok = ok && outcome.failure.empty();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::printf("{\"scenario\":%s,\"executions\":%llu,\"seconds\":%.2f,\"failure\":%s}\n",
                quoted(scenario.name).c_str(), static_cast<unsigned long long>(outcome.executions),
                seconds.count(), quoted(outcome.failure).c_str());
    std::fflush(stdout);
  }
  for (const auto& order : model::orders_seen()) {
    std::printf("{\"order\":[%s,%u,%u,%s]}\n", quoted(order.file).c_str(), order.line, order.column,
                quoted(order.part).c_str());
  }
  return ok;
}

// True if a scenario fails without the order, as it should.
bool run_without(const model::Order& order, unsigned preemptions) {
  for (const auto& scenario : model::scenarios()) {
    Settings settings;
    settings.without = order;
    settings.preemptions = std::min(preemptions, scenario.preemptions);
    const Outcome outcome = model::explore(settings, scenario.run);
    if (outcome.failure.empty()) continue;
    std::printf("{\"scenario\":%s,\"executions\":%llu,\"failure\":%s}\n",
                quoted(scenario.name).c_str(), static_cast<unsigned long long>(outcome.executions),
                quoted(outcome.failure).c_str());
    return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto number = [&](std::size_t i) { return static_cast<unsigned>(std::stoul(words[i])); };
  if (words.size() == 1 && words[0] == "litmus") return run_litmus() ? 0 : 1;
  if (!words.empty() && words.size() <= 3 && words[0] == "scenarios") {
    return run_scenarios(words.size() > 1 ? number(1) : model::kUnbounded,
                         words.size() > 2 ? argv[3] : "")
               ? 0
               : 1;
  }
  if (words.size() == 6 && words[0] == "without") {
    return run_without({words[1], number(2), number(3), words[4]}, number(5)) ? 0 : 1;
  }
  std::fprintf(stderr,
               "usage: model litmus | scenarios [PREEMPTIONS [NAME]] | "
               "without FILE LINE COLUMN PART PREEMPTIONS\n");
  return 2;
}
