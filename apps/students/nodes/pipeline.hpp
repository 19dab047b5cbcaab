// All four nodes as processes on this machine.
#pragma once

#include <cstdint>
#include <string>

namespace students::nodes {

struct PipelinePlan {
  std::string folder = ".";
  std::string target = "summary.txt";
  std::string state;  // empty: beside the target
  std::uint32_t maximum = 0;
  std::uint64_t timeout_s = 60;
  bool fresh = false;
  bool progress = false;
};

// Starts the nodes, restarts killed nodes, and removes the state when all are done. Throws the
// refusal of a node, Incomplete if students are incomplete, or Interrupted.
void run_pipeline(const PipelinePlan& plan);

}  // namespace students::nodes
