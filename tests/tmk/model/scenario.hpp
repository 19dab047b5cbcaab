// What main.cpp runs: scenarios of the runtime, and litmus tests of the explorer itself.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "explorer.hpp"

namespace model {

// Must hold in every execution, or in every one with at most so many preemptions where all would be
// too many.
struct Scenario {
  std::string name;
  std::function<void()> run;
  unsigned preemptions = kUnbounded;
};
std::vector<Scenario> scenarios();

// What the memory model says of a few lines that are well known.
struct Litmus {
  std::string name;
  std::function<void()> run;
  std::set<int> allowed;     // exactly these values are observed
  std::string failure = {};  // or the executions fail so
};
std::vector<Litmus> litmus_tests();

}  // namespace model
