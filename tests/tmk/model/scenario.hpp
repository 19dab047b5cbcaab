// The input of main.cpp: scenarios of the runtime, and litmus tests of the explorer itself.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "explorer.hpp"

namespace model {

// Must hold in every execution, or, if those are too many, in every execution with at most so many
// preemptions.
struct Scenario {
  std::string name;
  std::function<void()> run;
  unsigned preemptions = kUnbounded;
};
std::vector<Scenario> scenarios();

// The verdict of the memory model on a few well-known lines.
struct Litmus {
  std::string name;
  std::function<void()> run;
  std::set<int> allowed;     // exactly these values are observed
  std::string failure = {};  // or the executions fail with this
};
std::vector<Litmus> litmus_tests();

}  // namespace model
