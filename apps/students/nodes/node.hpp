// One node: its file, its state, its neighbours.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "names.hpp"
#include "results.hpp"

namespace students::nodes {

struct NodePlan {
  Node node = kBasic;
  std::string listen;  // empty: no node is before this node
  std::string next;    // empty: no node is behind this node
  std::string state;
  std::string folder = ".";            // of the node's file
  std::string target = "summary.txt";  // of the last node
  std::uint32_t maximum = 0;
  std::chrono::seconds timeout{60};
  bool fresh = false;
  bool progress = false;  // on a terminal
  int report = -1;        // a descriptor for the watching process
};

struct NodeFacts {
  std::uint64_t received = 0;
  std::uint64_t passed = 0;
  std::uint64_t acknowledged = 0;
  Results results;
};

// Runs the node until its work is done. Throws Failure, BadRequest or Interrupted; the state then
// lets the same plan go on.
NodeFacts run_node(const NodePlan& plan);

}  // namespace students::nodes
